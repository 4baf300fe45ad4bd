"""Turns the file of an hour into Parquet, and adds it up."""

from synergy.worker import Nothing, Outcome, Processed, Task, Worker

from workers import warehouse

# Not left to DuckDB's detection: an hour without sales has no lines to detect types from.
COLUMNS = {"time": "TIME", "shop": "VARCHAR", "product": "VARCHAR"}
COLUMNS |= {"quantity": "INTEGER", "price": "DECIMAL(9, 2)"}


class SalesHourly(Worker):
    """The sales of an hour, by product; fails as long as the file is missing."""

    unique_by = ("product",)

    def work(self, task: Task) -> Outcome:
        file = warehouse.INBOX / f"{task.timeperiod}.csv"
        if not file.exists():
            raise FileNotFoundError(f"{file.name} has not arrived in inbox/")
        with warehouse.database() as db:
            sales = db.read_csv(str(file), header=True, dtype=COLUMNS)
            saved = warehouse.parquet(self.workplace.home, "hourly", task.timeperiod)
            warehouse.save(sales, saved)
            rows = warehouse.totals(sales)
        if not rows:
            return Nothing()
        task.sink.replace(task.timeperiod, rows)
        return Processed({"products": len(rows)})
