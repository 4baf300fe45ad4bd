"""The deployments that are measured; each is named in `SYNERGY_CONTEXT`."""
