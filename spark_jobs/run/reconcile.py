"""The law, by table: what its batches say became of the rows, against the rows that are there. Asked after every run of a table, of the
logs alone.
"""

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import count_standing, table_version
from spark_jobs.run.order import RunOrder


class TableUnbalanced(Exception):
    """A table, or the rows set aside from it, are not as many as its batches say."""

    def __init__(self, table: str, place: str, expected: int, found: int) -> None:
        self.table, self.place, self.expected, self.found = table, place, expected, found
        super().__init__(
            f"{table}: the ledger accounts for {expected:,} rows in {place}, but {found:,} are there; something else wrote to it: "
            "the ledger's evidence table keeps the numbers, and `weir verify` names the rows"
        )


def reconcile(order: RunOrder, table: str) -> None:
    """TableUnbalanced, after keeping the evidence, unless the rows of the table and of its side tables add up."""
    if table.startswith("gold."):
        return  # its windows were checked batch by batch, before they were shown
    generation, lake = order.plan.generation(table), order.plan.lake
    counts = sum((Counts.of_row(row) for row in order.ledger.batches(table, generation)), Counts())
    expected = {table: counts.grown}
    if not table.startswith("bronze."):
        expected |= {f"quarantine.{table}": counts.quarantined, f"parked.{table}": counts.parked}
    for place, number in expected.items():
        found = count_standing(place, lake.table(place))
        if found != number:
            error = TableUnbalanced(table, place, number, found)
            version = table_version(lake.table(place))
            order.ledger.write_evidence(order.run_id, (table, "reconcile", generation, 0), {place: version}, str(error))
            raise error
