"""Single sign-on: MX as a client of a login provider, by OpenID Connect.

`client`, and Authlib with it, is imported only where single sign-on is configured.
"""
