"""Small deployments for tests, built as `context.py` would."""

from __future__ import annotations

from typing import Any

from synergy.model.process import Deployment, ManagedProcess, Tree
from synergy.timeperiod import Qualifier

YEARLY, MONTHLY, DAILY, HOURLY = (
    Qualifier.YEARLY,
    Qualifier.MONTHLY,
    Qualifier.DAILY,
    Qualifier.HOURLY,
)


def a_process(name: str, qualifier: Qualifier, **fields: Any) -> ManagedProcess:
    """A managed process; all fields but name and qualifier have defaults."""
    defaults: dict[str, Any] = {
        "classname": "tests.deployments.nothing",
        "token": name,
        "present_on_boxes": (".*",),
    }
    return ManagedProcess(name=name, qualifier=qualifier, **{**defaults, **fields})


def a_deployment(
    trees: dict[str, list[ManagedProcess]], depends: dict[str, tuple[str, ...]] | None = None
) -> Deployment:
    """Trees of processes, coarse to fine; `depends` says which trees a tree depends on."""
    depends = depends or {}
    return Deployment(
        {p.name: p for processes in trees.values() for p in processes},
        {
            name: Tree(
                name=name,
                processes=tuple(p.name for p in processes),
                dependent_on=depends.get(name, ()),
            )
            for name, processes in trees.items()
        },
    )


def site_and_client(**fields: Any) -> Deployment:
    """Two trees: site with four levels, client with three that depends on site."""
    site = {q: a_process(f"Site{q.value}", q, **fields) for q in Qualifier}
    client = {q: a_process(f"Client{q.value}", q, **fields) for q in (YEARLY, MONTHLY, DAILY)}
    order = (YEARLY, MONTHLY, DAILY, HOURLY)
    return a_deployment(
        {
            "site": [site[q] for q in order],
            "client": [client[q] for q in order[:3]],
        },
        {"client": ("site",)},
    )
