"""Zones by name."""

from __future__ import annotations

import pytest

from synergy.errors import InvalidValue
from synergy.schedule import zones
from synergy.schedule.zones import zone


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"])
def test_a_known_zone_is_found(name: str) -> None:
    assert zone(name).key == name


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Berlin", "did you mean Europe/Berlin?"),
        ("New York", "did you mean America/New_York?"),
        ("utc", "did you mean UTC?"),
        ("UTC ", "did you mean UTC?"),
        ("est", "did you mean EST?"),
        ("CEST", "zones are named like"),  # EST, which looks like it, is seven hours away
        ("PST", "zones are named like"),
        ("", "zones are named like Europe/Berlin or UTC"),
        ("Europe", "zones are named like"),
        ("+02:00", "zones are named like"),
        ("../../etc/passwd", "zones are named like"),
        ("/etc/localtime", "zones are named like"),
        ("localtime", "zones are named like"),  # another zone on each machine
        ("right/UTC", "zones are named like"),  # counts leap seconds
        ("Europe/Berlin\0", "did you mean Europe/Berlin?"),
        ("x" * 5000, "zones are named like"),
    ],
)
def test_an_unknown_zone_is_refused_with_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        zone(name)
    assert suggestion in str(refused.value)


def test_a_machine_without_zones_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "available_timezones", set)
    with pytest.raises(InvalidValue, match="install the package tzdata"):
        zone("Mars/Olympus_Mons")
