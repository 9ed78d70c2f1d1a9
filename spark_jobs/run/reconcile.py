"""The law, by table: what its batches say became of the rows, against the rows that are there. Asked after every run of a table, of the
logs alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from spark_jobs.config.pipeline import Pipeline, Silver
from spark_jobs.config.text import count
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delivered import rows_not_delivered
from spark_jobs.lake.delta_log import count_records, count_standing, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run.order import RunOrder


class SinkUnbalanced(Exception):
    """What a sink has delivered by the ledger is not what its table had."""

    def __init__(self, sink: str, table: str, delivered: int, standing: int) -> None:
        self.sink, self.table, self.delivered, self.standing = sink, table, delivered, standing
        super().__init__(
            f"{sink}: its batches account for {count(delivered, 'row')} at the other side, and {table} has {standing:,} "
            "in the version delivered; the ledger's evidence table keeps the numbers: `weir rebuild` for the sink delivers everything anew"
        )


class TableUnbalanced(Exception):
    """A table, or the rows set aside from it, are not as many as its batches say."""

    def __init__(self, table: str, place: str, expected: int, found: int) -> None:
        self.table, self.place, self.expected, self.found = table, place, expected, found
        super().__init__(
            f"{table}: the ledger accounts for {count(expected, 'row')} in {place}, but {count(found, 'is', 'are')} there; "
            "something else wrote to it: the ledger's evidence table keeps the numbers, and `weir verify` names the rows"
        )


class RecordsUnread(Exception):
    """A table has read another number of records than bronze has."""

    def __init__(self, pipeline: str, table: str, bronze: str, read: int, found: int) -> None:
        self.table, self.bronze, self.read, self.found = table, bronze, read, found
        super().__init__(
            f"{table}: its batches have read {count(read, 'record')} of {bronze}, which has {found:,}; the ledger's "
            f"evidence table keeps the numbers: `weir rebuild {pipeline} {table}` makes it from all of {bronze}"
        )


def _reconcile_sink(order: RunOrder, sink: str, table: str) -> None:
    """Rows published since = rows delivered: the second by the ledger, the first by the log of the table."""
    generation = order.plan.generation(sink)
    if found := rows_not_delivered(order.ledger, sink, generation, order.plan.lake.table(table)):
        error = SinkUnbalanced(sink, table, *found)
        order.ledger.write_evidence(order.run_id, (sink, "reconcile", generation, 0), {}, str(error))
        raise error


def balances(pipeline: Pipeline, table: str, counts: Counts, lake: Lake) -> Iterator[tuple[str, int, int]]:
    """Places whose rows must be as many as the batches of a table say: the place, what they say, and what is there.

    Windows were checked batch by batch, before they were shown. A native table has read every row of its silver tables once.
    """
    layer, _, name = table.partition(".")
    expected = {table: counts.grown}
    if layer == "gold":
        if not pipeline.gold[name].is_native:
            return
        expected |= {f"late.{table}": counts.late}
        inputs = [source for source, _ in pipeline.gold[name].delays]
        yield " and ".join(inputs), counts.rows_in, sum(count_standing(source, lake.table(source)) for source in inputs)
    elif layer != "bronze":
        expected |= {f"quarantine.{table}": counts.quarantined, f"parked.{table}": counts.parked}
    for place, number in expected.items():
        yield place, number, count_standing(place, lake.table(place))


def records_unread(
    pipeline: Pipeline, table: str, ledger: Ledger, generations: Mapping[str, int], lake: Lake, consumed: int | None
) -> tuple[str, int, int] | None:
    """Over all time, the records of bronze against those that a dimension or silver table has read, where they differ: the bronze table,
    what was read, and what there is. `consumed` is the version of bronze that the table has consumed; of what came later it may have
    read any part, because a run may have been cut.
    """
    layer, _, name = table.partition(".")
    if layer not in ("dimension", "silver"):
        return None
    definition = pipeline.dimensions[name] if layer == "dimension" else pipeline.silver[name]
    bronze, is_exploded = f"bronze.{definition.from_}", isinstance(definition, Silver) and definition.explode is not None
    read = ledger.records_read(table, generations.get(table, 1), is_one_row_each=not is_exploded)
    if read is None:
        return None
    least = ledger.records_until(bronze, generations.get(bronze, 1), consumed) if consumed is not None else 0
    if read < least:
        return bronze, read, least
    most = count_records(lake.table(bronze))
    return (bronze, read, most) if read > most else None


def reconcile(order: RunOrder, table: str, inputs: Mapping[str, Any]) -> None:
    """TableUnbalanced or RecordsUnread, after keeping the evidence, unless the rows of the table and of its side tables add up, and all
    records of these inputs were read.
    """
    generation, lake = order.plan.generation(table), order.plan.lake
    if table.startswith("sink."):
        _reconcile_sink(order, table, order.plan.tables[table][0])
        return
    counts = order.ledger.sums(table, generation)
    for place, number, found in balances(order.plan.pipeline, table, counts, lake):
        if found != number:
            error = TableUnbalanced(table, place, number, found)
            versions = {source: table_version(lake.table(source)) for source in place.split(" and ")}
            order.ledger.write_evidence(order.run_id, (table, "reconcile", generation, 0), versions, str(error))
            raise error
    generations = {name: known.generation for name, known in order.plan.definitions.items()}
    consumed = next((version for name, version in inputs.items() if name.startswith("bronze.")), None)
    if unread := records_unread(order.plan.pipeline, table, order.ledger, generations, lake, consumed):
        not_read = RecordsUnread(order.plan.pipeline.name, table, *unread)
        order.ledger.write_evidence(order.run_id, (table, "reconcile", generation, 0), {unread[0]: consumed}, str(not_read))
        raise not_read
