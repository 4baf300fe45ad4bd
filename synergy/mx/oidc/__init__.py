"""Single sign-on: MX as a client of a login provider, by OpenID Connect.

Only where it is configured, `client` is imported, and Authlib with it.
"""
