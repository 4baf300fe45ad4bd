"""Accounts: users, roles, passwords, tokens and sessions, and the authentication of a request.

The protection against hostile requests, with or without an account, is in `protection`.
"""
