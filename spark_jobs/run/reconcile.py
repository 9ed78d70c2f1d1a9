"""The law, by table: what its batches say became of the rows, against the rows that are there. Asked after every run of a table, of the
logs alone.
"""

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delivered import rows_not_delivered
from spark_jobs.lake.delta_log import count_standing, table_version
from spark_jobs.run.order import RunOrder


class SinkUnbalanced(Exception):
    """What a sink has delivered by the ledger is not what its table had."""

    def __init__(self, sink: str, table: str, delivered: int, standing: int) -> None:
        self.sink, self.table, self.delivered, self.standing = sink, table, delivered, standing
        super().__init__(
            f"{sink}: its batches account for {delivered:,} rows at the other side, and {table} has {standing:,} in the version delivered; "
            "the ledger's evidence table keeps the numbers: `weir rebuild` for the sink delivers everything anew"
        )


class TableUnbalanced(Exception):
    """A table, or the rows set aside from it, are not as many as its batches say."""

    def __init__(self, table: str, place: str, expected: int, found: int) -> None:
        self.table, self.place, self.expected, self.found = table, place, expected, found
        super().__init__(
            f"{table}: the ledger accounts for {expected:,} rows in {place}, but {found:,} are there; something else wrote to it: "
            "the ledger's evidence table keeps the numbers, and `weir verify` names the rows"
        )


def _reconcile_sink(order: RunOrder, sink: str, table: str) -> None:
    """Rows published since = rows delivered: the second by the ledger, the first by the log of the table."""
    generation = order.plan.generation(sink)
    if found := rows_not_delivered(order.ledger, sink, generation, order.plan.lake.table(table)):
        error = SinkUnbalanced(sink, table, *found)
        order.ledger.write_evidence(order.run_id, (sink, "reconcile", generation, 0), {}, str(error))
        raise error


def reconcile(order: RunOrder, table: str) -> None:
    """TableUnbalanced, after keeping the evidence, unless the rows of the table and of its side tables add up."""
    if table.startswith("gold."):
        return  # its windows were checked batch by batch, before they were shown
    generation, lake = order.plan.generation(table), order.plan.lake
    if table.startswith("sink."):
        _reconcile_sink(order, table, order.plan.tables[table][0])
        return
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
