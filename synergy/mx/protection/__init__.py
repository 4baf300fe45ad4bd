"""Protection against hostile requests: authentication before routing, CSRF, host names, limits.

Most modules are one ASGI middleware or one check; `app` puts the middleware in order. Accounts and
sessions are in `accounts`. Limits: `acceptor` (connections), `limits` (of a request), `rates` (of
requests), `turns` (threads); `shares` counts what each holder has.
"""
