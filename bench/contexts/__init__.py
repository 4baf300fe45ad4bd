"""The deployments that are measured; `SYNERGY_CONTEXT` selects one of them."""
