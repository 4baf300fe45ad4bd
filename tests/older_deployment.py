"""What a deployment of Synergy 2 stored, as `mongoexport` writes it: made for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HOURS, DAYS = "SiteHourlyAggregator", "SiteDailyAggregator"
BOX = "prod-1"

Exported = Mapping[str, list[dict[str, Any]]]


def oid(number: int) -> dict[str, str]:
    """An object id."""
    return {"$oid": f"{number:024x}"}


def a_job(process: str, timeperiod: str, state: str, unit: int = 0) -> dict[str, Any]:
    return {
        "_id": oid(int(timeperiod) + (process == DAYS) * 10**12),
        "process_name": process,
        "timeperiod": timeperiod,
        "state": f"state_{state}",
        "related_unit_of_work": oid(unit) if unit else None,
        "event_log": [],
        "number_of_failures": {"$numberInt": "0"},
    }


def a_unit(number: int, process: str, timeperiod: str, state: str, **more: Any) -> dict[str, Any]:
    return {
        "_id": oid(number),
        "process_name": process,
        "timeperiod": timeperiod,
        "start_timeperiod": timeperiod,
        "end_timeperiod": timeperiod,
        "start_obj_id": oid(1),
        "end_obj_id": oid(2),
        "source": "site_hourly",
        "arguments": {},
        "state": f"state_{state}",
        "created_at": {"$date": "2015-05-19T04:00:01.250Z"},
        "started_at": {"$date": {"$numberLong": "1432008002000"}},
        "finished_at": {"$date": 1432008003000},
        "number_of_processed_documents": {"$numberLong": "7"},
        "number_of_retries": 1,
        "unit_of_work_type": "type_managed",
        **more,
    }


def deployment() -> dict[str, list[dict[str, Any]]]:
    """A day and ten hours: 2015-05-19 is done, 2015-05-20 is under way."""
    hours = [f"20150519{hour:02}" for hour in range(24)]
    hours += [f"20150520{hour:02}" for hour in range(10)]
    return {
        "job_hourly": [
            *(
                a_job(HOURS, hour, "noop" if hour.endswith("03") else "processed", n)
                for n, hour in enumerate(hours, 100)
            ),
            a_job(HOURS, "2015052010", "in_progress", 300),
            a_job(HOURS, "2015052011", "embryo"),
        ],
        "job_daily": [
            a_job(DAYS, "2015051900", "processed", 400),
            a_job(DAYS, "2015052000", "in_progress"),
            a_job("Retired", "2015051900", "processed"),
        ],
        "unit_of_work": [
            *(a_unit(n, HOURS, hour, "processed") for n, hour in enumerate(hours, 100)),
            a_unit(99, HOURS, "2015051900", "canceled"),
            a_unit(300, HOURS, "2015052010", "in_progress"),
            a_unit(400, DAYS, "2015051900", "processed"),
            a_unit(500, "Export", "20150519120000", "processed", unit_of_work_type="type_freerun"),
        ],
        "box_configuration": [
            {"_id": oid(1), "box_id": BOX, "process_name": HOURS, "is_on": True, "pid": 17},
            {"_id": oid(2), "box_id": BOX, "process_name": DAYS, "is_on": False, "pid": None},
            {"_id": oid(3), "box_id": BOX, "process_name": "Supervisor", "is_on": True},
        ],
        "managed_process": [
            {"process_name": HOURS, "is_on": True, "trigger_frequency": "every 900"},
            {"process_name": DAYS, "is_on": False, "trigger_frequency": "every 600"},
        ],
        "freerun_process": [
            {
                "process_name": "Export",
                "entry_name": "to the shop",
                "is_on": True,
                "trigger_frequency": "every 3600",
                "arguments": {"n": 2},
            },
        ],
    }


def written(folder: Path, exported: Exported) -> Path:
    """Writes the collections as files of `mongoexport`; returns their folder."""
    folder.mkdir(exist_ok=True)
    for name, documents in exported.items():
        lines = "".join(f"{json.dumps(document)}\n" for document in documents)
        (folder / f"{name}.json").write_text(lines)
    return folder
