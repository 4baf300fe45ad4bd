"""Protection against hostile requests: authentication before routing, CSRF, host names, limits.

Each module is one ASGI middleware or one check; `app` puts them in order. Accounts and sessions
are in `accounts`.
"""
