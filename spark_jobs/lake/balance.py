"""The counts that must agree: what the batches of a table say became of its rows, and the rows that are
there. Read from the logs alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Silver
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import count_records, count_rows, count_standing, has_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_batches import AFTER, BatchId, batch_id_of


def balances(pipeline: Pipeline, table: str, counts: Counts, lake: Lake) -> Iterator[tuple[str, int, int]]:
    """Places whose rows must be as many as the batches of a table say: the place, what they say, and what is
    there.

    Windows were checked batch by batch, before they were shown. A native table has read every row of its
    silver tables once.
    """
    layer, name = TableName(table).parts
    expected = {table: counts.grown}
    if layer == "gold":
        if not pipeline.gold[name].is_native:
            return
        expected |= {f"late.{table}": counts.late}
        inputs = [source for source, _ in pipeline.gold[name].delays]
        yield (
            " and ".join(inputs),
            counts.rows_in,
            sum(count_standing(source, lake.table(source)) for source in inputs),
        )
    elif layer != "bronze":
        expected |= {f"quarantine.{table}": counts.quarantined, f"parked.{table}": counts.parked}
    for place, number in expected.items():
        yield place, number, count_standing(place, lake.table(place))


def records_unread(
    pipeline: Pipeline,
    table: str,
    ledger: Ledger,
    generations: Mapping[str, int],
    lake: Lake,
    consumed: int | None,
) -> tuple[str, int, int] | None:
    """Over all time, the records of bronze against those that a dimension or silver table has read, where
    they differ: the bronze table, what was read, and what there is. `consumed` is the version of bronze that
    the table has consumed; of what came later it may have read any part, because a run may have been cut.
    """
    layer, name = TableName(table).parts
    if layer not in ("dimension", "silver"):
        return None
    definition = pipeline.dimensions[name] if layer == "dimension" else pipeline.silver[name]
    bronze, is_exploded = (
        f"bronze.{definition.from_}",
        isinstance(definition, Silver) and definition.explode is not None,
    )
    read = ledger.records_read(table, generations.get(table, 1), is_one_row_each=not is_exploded)
    if read is None:
        return None
    least = ledger.records_until(bronze, generations.get(bronze, 1), consumed) if consumed is not None else 0
    if read < least:
        return bronze, read, least
    most = count_records(lake.table(bronze))
    return (bronze, read, most) if read > most else None


# What a sink has delivered, by its ledger: how many rows the other side must have, of which version of the
# table, and by which batch.
#
# A batch bears a name by which the other side knows it. Numbers alone would not do: a lake that was
# restored from a backup counts on from an older number, and its next batches are others than those that
# were delivered under the same numbers. So the name ends with the time at which the batch was begun, which
# is written down before and stays when the batch is done again.


BEGIN, COMPLETE = "begin", "complete"
"""Steps of a sink, beside its stream: the first batch of a generation, and one that
delivers the whole table.
"""


@dataclass(frozen=True)
class Delivered:
    """A batch of a sink, as the other side knows it. Batches of earlier versions had no time in their names
    (`begun_at`: None).
    """

    lake_id: str
    pipeline: str
    batch_id: BatchId
    begun_at: datetime | None

    @property
    def old_name(self) -> str:
        sink, step, generation, number = self.batch_id
        return f"{self.pipeline}/{sink}/{self.lake_id}/g{generation}/{step}/{number}"

    @property
    def name(self) -> str:
        return self.old_name if self.begun_at is None else f"{self.old_name}/{self.begun_at:%Y%m%dT%H%M%S%f}"

    def is_known_as(self, name: str) -> bool:
        return name in (self.name, self.old_name)


def last_delivered(ledger: Ledger, lake_id: str, sink: str) -> Delivered | None:
    """The last done batch after which the other side is another one: it brought changes, or all there is."""
    for row in ledger.newest_batches(sink):
        batch_id = batch_id_of(row)
        intent = ledger.intent(batch_id)
        is_whole = row["step"] == COMPLETE or (
            row["step"] == BEGIN and (intent is None or intent.inputs.get(AFTER) is None)
        )
        if is_whole or _changes(row):
            return Delivered(lake_id, ledger.lake.pipeline, batch_id, intent.begun_at if intent else None)
    return None


def _changes(row: Mapping[str, Any]) -> bool:
    return any(row[name] for name in ("inserted", "updated", "deleted"))


def delivered_rows(ledger: Ledger, sink: str, generation: int) -> tuple[int, int | None]:
    """The rows that the batches account for since everything was last delivered, and the last version."""
    total, version = 0, None
    for number in range(generation, 0, -1):
        last = ledger.last_batch(sink, number)
        if last and version is None:
            version = ledger.last_version(sink, number)
        if last and last["step"] == COMPLETE:
            return Counts.of_row(last).inserted, last["version"]
        total += ledger.sums(sink, number).grown
        begun = ledger.intent((sink, BEGIN, number, 0))
        if last and (begun is None or begun.inputs.get(AFTER) is None):
            break
    return total, version


def rows_not_delivered(ledger: Ledger, sink: str, generation: int, table: str) -> tuple[int, int] | None:
    """(rows that should be there, rows that the table has) where the two differ; the second from the log of
    the table alone.
    """
    delivered, version = delivered_rows(ledger, sink, generation)
    if version is None or not has_version(table, version):
        return None
    standing = count_rows(table, version)
    return (delivered, standing) if delivered != standing else None
