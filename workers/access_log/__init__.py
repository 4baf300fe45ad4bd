"""Ingests access logs: lines become events of sessions, which the session workers store."""
