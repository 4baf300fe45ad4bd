"""What the processes of `context.py` do."""
