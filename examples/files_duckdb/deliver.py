"""Stands for the shops: delivers the files of all hours of the last three days, today included.

`sample.csv` holds the sales of one day; each day has the same. A file appears as a whole.
"""

import argparse
import csv
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
INBOX = PROJECT / "inbox"


def main() -> None:
    """Writes the files, and prints how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", metavar="HOUR", help="that is late: 2026-11-23T14")
    late = parser.parse_args().without
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours = [today + timedelta(days=-2, hours=n) for n in range(72)]
    INBOX.mkdir(exist_ok=True)
    delivered = [deliver(hour) for hour in hours if f"{hour:%Y-%m-%dT%H}" != late]
    sys.stdout.write(f"{len(delivered)} files are in {INBOX}\n")


def deliver(hour: datetime) -> Path:
    """Writes the file of an hour, with the lines of `sample.csv` at this time of day."""
    file = INBOX / f"{hour:%Y%m%d%H}.csv"
    part = file.with_suffix(".part")
    with (PROJECT / "sample.csv").open(newline="") as lines, part.open("w", newline="") as out:
        header, *sales = csv.reader(lines)
        writer = csv.writer(out)
        writer.writerow(header)
        writer.writerows(sale for sale in sales if sale[0].startswith(f"{hour:%H}:"))
    return part.replace(file)


if __name__ == "__main__":
    main()
