"""Adds up the Parquet files of the hours of a day."""

from synergy.timeperiod import Qualifier
from synergy.worker import Nothing, Outcome, Processed, Task, Worker

from workers import warehouse


class SalesDaily(Worker):
    """The sales of a day, by product, in one Parquet file sorted by shop and time."""

    unique_by = ("product",)

    def work(self, task: Task) -> Outcome:
        home, hourly = self.workplace.home, Qualifier.HOURLY
        first = hourly.parse(task.unit.start_timeperiod)
        end = hourly.parse(task.unit.end_timeperiod)
        hours = (warehouse.parquet(home, "hourly", hourly.timeperiod(n)) for n in range(first, end))
        files = [str(file) for file in hours if file.exists()]  # the timetable's start has fewer
        if not files:
            return Nothing()
        with warehouse.database() as db:
            sales = db.read_parquet(files)
            saved = warehouse.parquet(home, "daily", task.timeperiod)
            warehouse.save(sales.order("shop, time"), saved)
            rows = warehouse.totals(sales)
        task.sink.replace(task.timeperiod, rows)
        return Processed({"files": len(files), "products": len(rows)})
