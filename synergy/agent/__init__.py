"""The agent service: one agent decides about all schedules, and every agent delivers runs.

This package holds all that needs the lease of the decider or a claimed run. Rules about schedules
are in `synergy.schedule`, transports in `synergy.delivery`.
"""
