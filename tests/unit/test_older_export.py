"""Exported collections of an older deployment: extended JSON, one document a line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.cli.older_export import exported, exported_files
from synergy.errors import InvalidValue
from tests.older_deployment import DAYS, a_job, written


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('[{"a": 1},', "expected one document a line: export without --jsonArray"),
        ("5", "expected a JSON object"),
        ('{"a": ', "line 3: "),
        ('{"created_at": {"$date": "yesterday"}}', "yesterday"),
        ('{"n": {"$numberLong": "many"}}', "many"),
        ('{"created_at": {"$date": {"$numberLong": "99999999999999999"}}}', "line 3: "),
        ('{"a":' * 100_000, "recursion"),
        ("\xff", "line 3: "),
    ],
)
def test_a_line_that_is_no_document_is_named(tmp_path, line, words):
    folder = written(tmp_path / "x", {"job_daily": [a_job(DAYS, "2015051900", "noop")]})
    file = folder / "job_daily.json"
    file.write_text(f"{file.read_text()}\n{line}\n", encoding="latin-1")
    with pytest.raises(InvalidValue, match=r"^job_daily\.json line 3: ") as caught:
        list(exported(exported_files(folder)))
    assert words in str(caught.value)


def test_extended_json_of_all_versions_means_the_same(tmp_path):
    instant = datetime(2015, 5, 19, 4, 0, tzinfo=UTC)
    spellings = [
        "2015-05-19T04:00:00Z",
        "2015-05-19T04:00:00.000+0000",
        "2015-05-19T06:00:00+02:00",
        {"$numberLong": "1432008000000"},
        1432008000000,
    ]
    units = [
        {"at": {"$date": each}, "n": {"$numberInt": "3"}, "x": {"$numberDouble": "0.5"}}
        for each in spellings
    ]
    files = exported_files(written(tmp_path / "x", {"unit_of_work": units}))
    for _, _, document in exported(files):
        assert document == {"at": instant, "n": 3, "x": 0.5}
