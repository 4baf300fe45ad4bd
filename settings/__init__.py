"""Plain values by environment: `base.py` for all, then `<SYNERGY_ENV>.py` over it."""
