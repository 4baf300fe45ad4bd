"""The Parquet files, and connections to DuckDB.

Only one process at a time can write to a database file of DuckDB, and there are two workers, on
each box. So nothing is kept in such a file: each unit has a database in memory, and its result is a
Parquet file of its own, which any number of processes may read.
"""

import os
from pathlib import Path

import duckdb

PROJECT = Path(__file__).resolve().parent.parent
INBOX = PROJECT / "inbox"
LIMITS = {"threads": 2, "memory_limit": "256MB"}  # the default is the whole machine


def database() -> duckdb.DuckDBPyConnection:
    """A new database in memory; a context manager."""
    return duckdb.connect(config=LIMITS)


def parquet(home: Path, level: str, timeperiod: str) -> Path:
    """The Parquet file of a period."""
    return home / "warehouse" / level / f"{timeperiod}.parquet"


def save(relation: duckdb.DuckDBPyRelation, file: Path) -> None:
    """Writes a Parquet file as a whole or not at all: readers never see a part of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        relation.write_parquet(str(part))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def totals(relation: duckdb.DuckDBPyRelation) -> list[dict[str, object]]:
    """Quantity and revenue of each product."""
    found = relation.aggregate("product, sum(quantity), sum(quantity * price)", "product").order(
        "product"
    )
    return [
        {"product": product, "quantity": quantity, "revenue": revenue}
        for product, quantity, revenue in found.fetchall()
    ]
