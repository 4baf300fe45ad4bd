"""Base of long-running processes: services, stop, identity, leadership, logs."""
