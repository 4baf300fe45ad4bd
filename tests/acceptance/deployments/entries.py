"""Entries of `context.py` that the deployments of the acceptance tests share."""

from synergy.config.context import (
    QUALIFIER_HOURLY,
    daemon_context_entry,
    managed_context_entry,
)


def a_process(name, qualifier=QUALIFIER_HOURLY, **fields):
    """A managed process that neither settles nor backs off."""
    return managed_context_entry(
        **{
            "process_name": name,
            "time_qualifier": qualifier,
            "trigger_frequency": "every 60",
            "settle": "0s",
            "retry_backoff": "0s",
            "present_on_boxes": [".*"],
            **fields,
        }
    )


def a_daemon(name, classname):
    """A daemon on every box."""
    return daemon_context_entry(process_name=name, classname=classname, present_on_boxes=[".*"])
