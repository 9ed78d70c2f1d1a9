"""The law, by table: what its batches say became of the rows, against the rows that are there. Asked after
every run of a table, of the logs alone.
"""

from collections.abc import Mapping
from typing import Any

from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.lake.balance import balances, records_unread, rows_not_delivered
from spark_jobs.lake.delta_log import table_version
from spark_jobs.run.order import RunOrder


class SinkUnbalanced(Exception):
    """What a sink has delivered by the ledger is not what its table had."""

    def __init__(self, sink: str, table: str, delivered: int, standing: int) -> None:
        self.sink, self.table, self.delivered, self.standing = sink, table, delivered, standing
        super().__init__(
            f"{sink}: its batches account for {count(delivered, 'row')} at the other side, and {table} has"
            f" {standing:,} in the version delivered; the ledger's evidence table keeps the numbers: `weir"
            " rebuild` for the sink delivers everything again"
        )


class TableUnbalanced(Exception):
    """A table, or the rows set aside from it, are not as many as its batches say."""

    def __init__(self, table: str, place: str, expected: int, found: int) -> None:
        self.table, self.place, self.expected, self.found = table, place, expected, found
        super().__init__(
            f"{table}: the ledger accounts for {count(expected, 'row')} in {place}, but"
            f" {count(found, 'is', 'are')} there; something else wrote to it: the ledger's evidence table"
            " keeps the numbers, and `weir verify` names the rows"
        )


class RecordsUnread(Exception):
    """A table has read another number of records than bronze has."""

    def __init__(self, pipeline: str, table: str, bronze: str, read: int, found: int) -> None:
        self.table, self.bronze, self.read, self.found = table, bronze, read, found
        super().__init__(
            f"{table}: its batches have read {count(read, 'record')} of {bronze}, which has {found:,}; the"
            f" ledger's evidence table keeps the numbers: `weir rebuild {pipeline} {table}` makes it from all"
            f" of {bronze}"
        )


def _reconcile_sink(order: RunOrder, sink: str, table: str) -> None:
    """Rows published since = rows delivered: the second by the ledger, the first by the log of the table."""
    generation = order.plan.generation(sink)
    if found := rows_not_delivered(order.ledger, sink, generation, order.plan.lake.table(table)):
        error = SinkUnbalanced(sink, table, *found)
        order.ledger.write_evidence(order.run_id, (sink, "reconcile", generation, 0), {}, str(error))
        raise error


def reconcile(order: RunOrder, table: str, inputs: Mapping[str, Any]) -> None:
    """TableUnbalanced or RecordsUnread, after keeping the evidence, unless the rows of the table and of its
    side tables add up, and all records of these inputs were read.
    """
    generation, lake = order.plan.generation(table), order.plan.lake
    if TableName(table).is_sink:
        _reconcile_sink(order, table, order.plan.tables[table][0])
        return
    counts = order.ledger.sums(table, generation)
    for place, number, found in balances(order.plan.pipeline, table, counts, lake):
        if found != number:
            error = TableUnbalanced(table, place, number, found)
            versions = {source: table_version(lake.table(source)) for source in place.split(" and ")}
            order.ledger.write_evidence(
                order.run_id, (table, "reconcile", generation, 0), versions, str(error)
            )
            raise error
    generations = {name: known.generation for name, known in order.plan.definitions.items()}
    consumed = next((version for name, version in inputs.items() if TableName(name).is_bronze), None)
    if unread := records_unread(order.plan.pipeline, table, order.ledger, generations, lake, consumed):
        not_read = RecordsUnread(order.plan.pipeline.name, table, *unread)
        order.ledger.write_evidence(
            order.run_id, (table, "reconcile", generation, 0), {unread[0]: consumed}, str(not_read)
        )
        raise not_read
