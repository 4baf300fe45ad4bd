"""Ingests access logs: lines become visits, visits become events for the session workers."""
