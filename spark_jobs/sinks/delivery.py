"""One batch on its way out: its rows, what it is known by, and the check that as many arrived as left."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from spark_jobs.config.text import count
from spark_jobs.lake.balance import Delivered
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.sinks.changes import Tally


class KeyNotUnique(Exception):
    """More than one row of the table has the same key, so that nothing says which of them the other side
    should keep.
    """

    def __init__(self, sink: str, key: list[str], keys: int) -> None:
        self.sink, self.key, self.keys = sink, key, keys
        belong = (
            f"({', '.join(key)}) {'belongs' if keys == 1 else 'belong'} to more than one row of its table"
        )
        super().__init__(
            f"{sink}: {count(keys, 'key')} {belong}; nothing was published: "
            "name columns that identify a row in key, or write mode: complete"
        )


class RowsTakenBack(Exception):
    """Rows that were delivered are no longer in the table, and what was appended cannot be taken back."""

    def __init__(self, sink: str, pipeline: str, rows: int) -> None:
        self.sink, self.rows = sink, rows
        gone = count(rows, "row that was delivered is", "rows that were delivered are")
        super().__init__(
            f"{sink}: {gone} no longer in its table, which was rebuilt; append cannot take them back: "
            f"run `weir rebuild {pipeline} {sink}` to deliver all rows again, or declare operation: <column>"
        )


class OtherHistory(Exception):
    """The other side was not left by the batch that this lake delivered last: changes would be lost, doubled
    or taken for delivered.
    """

    def __init__(self, delivery: "Delivery", place: str, found: str | None) -> None:
        self.sink, self.place, self.found = delivery.batch.table, place, found
        there = f"was last written by batch {found}" if found else "has no note of what was delivered to it"
        known = (
            f"this lake delivered {delivery.after.name} last"
            if delivery.after
            else "this lake has delivered nothing"
        )
        super().__init__(
            f"{self.sink}: {place} {there}, but {known}: the lake or the other side was restored from an"
            f" older copy, or moved; nothing was delivered: run `weir rebuild {delivery.batch.lake.pipeline}"
            f" {self.sink}` to deliver everything again"
        )


@dataclass(frozen=True)
class SinkBatch:
    """What a user's function is told of a batch. `id` is the same whenever the batch is done again, and of no
    other batch.
    """

    id: str
    pipeline: str
    sink: str
    table: str
    generation: int
    step: str
    number: int
    is_whole: bool


@dataclass(frozen=True)
class Delivery:
    """`rows` are the delivered columns and the changes' own (see changes.py). `is_whole`: they are all that
    the other side should have.
    """

    batch: Batch
    table: str
    rows: DataFrame
    columns: tuple[str, ...]
    key: tuple[str, ...] | None
    operation: str | None
    is_whole: bool
    tally: Tally
    lake_id: str
    """Which lake it is: one that was loaded again counts its batches from the beginning, and none of them has
    been delivered.
    """
    after: Delivered | None
    """The batch that was delivered last, by the ledger."""

    @property
    def known_as(self) -> Delivered:
        return Delivered(self.lake_id, self.batch.lake.pipeline, self.batch.batch_id, self.batch.processed_at)

    @property
    def told(self) -> SinkBatch:
        batch = self.batch
        known_as = (
            batch.lake.pipeline,
            batch.table.removeprefix("sink."),
            self.table,
            batch.generation,
            batch.step,
            batch.number,
        )
        return SinkBatch(self.known_as.name, *known_as, self.is_whole)

    def check_history(self, place: str, found: str | None) -> None:
        """OtherHistory unless the batch that the other side had last is the one before this. A whole replaces
        whatever is there.
        """
        is_next = (
            self.after.is_known_as(found) if self.after and found else (self.after, found) == (None, None)
        )
        if not self.is_whole and not is_next:
            raise OtherHistory(self, place, found)

    def has_nothing(self, counts: Counts) -> bool:
        """Whether the other side stays as it is: an OPTIMIZE of the table gives such a batch, and a rebuild
        that changed nothing.
        """
        return not self.is_whole and not counts.inserted + counts.updated + counts.deleted

    def counts(self, arrived: int) -> Counts:
        """What the batch did, once its rows were read; RowsMissing unless as many arrived as were changed."""
        counts = self.tally.counts()
        sent = counts.inserted + counts.updated + counts.deleted
        if self.tally.doubled:
            raise KeyNotUnique(self.batch.table, list(self.key or ()), self.tally.doubled)
        if counts.grown != counts.inserted - counts.deleted:
            raise RowsMissing(self.batch, counts, "changes of rows do not add up")
        if arrived != sent:
            raise RowsMissing(self.batch, Counts(rows_in=sent, inserted=arrived), "rows did not arrive")
        return counts

    def refuse_deletes(self, counts: Counts) -> None:
        """Rows that only ever come cannot tell of one that went."""
        if self.operation is None and self.key is None and counts.deleted:
            raise RowsTakenBack(self.batch.table, self.batch.lake.pipeline, counts.deleted)
