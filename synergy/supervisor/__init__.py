"""Keeps the processes of this box running: observe, plan, act."""
