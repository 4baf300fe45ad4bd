"""Which periods exist and what waits for what."""
