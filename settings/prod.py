"""Production: as in base.py; `SYNERGY_<NAME>` sets what differs by machine."""
