"""Accounts: users, roles, passwords, tokens and sessions, and the authentication of a request.

What guards MX against hostile requests, whoever sends them, is in `protection`.
"""
