"""Keeps the processes of this box alive: observe, plan, act."""
