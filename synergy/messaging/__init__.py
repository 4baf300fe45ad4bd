"""Messages between processes: hints and events. The rows of the store are the truth."""
