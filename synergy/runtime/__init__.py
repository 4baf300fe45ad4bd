"""The kit of long-lived parts: stop, identity, leadership, logs."""
