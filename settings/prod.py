"""Production: everything as in base.py; what differs by machine comes as `SYNERGY_<NAME>`."""
