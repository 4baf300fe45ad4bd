"""Settings of every environment."""

WEBHOOK_NETWORKS = "127.0.0.0/8"  # requests may go to this machine
