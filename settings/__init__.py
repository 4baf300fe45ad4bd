"""Settings by environment: `base.py` for all, overridden by `<SYNERGY_ENV>.py`."""
