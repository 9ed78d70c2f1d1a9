"""A function of the user's, for each batch (a DataFrame, on the driver) or for each row (a dict, on the
executors).

Both get a SinkBatch, whose id is the same when the batch is done again: by it, and by `_row` of a row, the
function can tell a repetition.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.sql import Row

from spark_jobs.config.files import read_text
from spark_jobs.config.hooks import HookRaised, calling, line_of
from spark_jobs.config.sinks import PythonSink
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.kept import kept
from spark_jobs.lake.tables import writing
from spark_jobs.sinks.changes import OPERATION, PLACE, ROW_ID
from spark_jobs.sinks.delivery import Delivery, SinkBatch


class HookFailed(Exception):
    """The user's function raised an error. Its own words may hold values of a row, so that only its kind and
    place are said.
    """

    def __init__(self, sink: str, hook: str, kind: str, place: str) -> None:
        self.sink, self.hook, self.kind, self.place = sink, hook, kind, place
        super().__init__(
            f"{sink}: {hook} raised {kind} {place}; the batch counts as not delivered, and is handed over"
            " again by the next run"
        )


def deliver_python(delivery: Delivery, sink: PythonSink, conf: Path) -> tuple[Counts, int | None]:
    """Call the function with the rows of the batch. What must hold of them is asked before."""
    operation = sink.operation or OPERATION
    told, name = delivery.told, delivery.batch.table
    with kept(delivery.rows) as changes:
        counts = delivery.counts(changes.count())
        delivery.refuse_deletes(counts)
        if delivery.has_nothing(counts):
            return counts, delivery.tally.version
        shown = changes.select(*delivery.columns, changes[OPERATION].alias(operation), ROW_ID, PLACE)
        with writing(name, delivery.batch):
            if sink.per == "batch":
                _call_with_batch(name, sink.function, conf, shown.drop(PLACE), told)
            else:
                call = _RowCaller(
                    name, sink.function, read_text(conf / sink.function.partition(":")[0]), told
                )
                results = shown.rdd.mapPartitionsWithIndex(call).collect()
                for failed in (result for result in results if isinstance(result, tuple)):
                    raise HookFailed(name, sink.function, *failed)
                delivery.counts(sum(result for result in results if isinstance(result, int)))
    return counts, delivery.tally.version


def _call_with_batch(sink: str, reference: str, conf: Path, rows: Any, told: SinkBatch) -> None:
    file, _, name = reference.partition(":")
    try:
        with calling(reference):
            function = _load(read_text(conf / file), file, name)
            function(rows, told)
    except HookRaised as raised:
        raise HookFailed(sink, reference, raised.kind, f"at {raised.place}, for batch {told.id}") from None


class _RowCaller:
    """Sent to the executors with the text of the file, so that these need not have it. Gives the number of
    rows of each partition, or of a failure its kind and place.
    """

    def __init__(self, sink: str, reference: str, text: str, told: SinkBatch) -> None:
        self.sink, self.reference, self.text, self.told = sink, reference, text, told

    def __call__(self, partition: int, rows: Iterable[Row]) -> Iterator[int | tuple[str, str]]:
        file, _, name = self.reference.partition(":")
        function, done = _load(self.text, file, name), 0
        for row in rows:
            values = row.asDict(recursive=True)
            place = values.pop(PLACE) or f"row {done + 1} of part {partition + 1} of batch {self.told.id}"
            try:
                function(values, self.told)
            except BaseException as error:  # noqa: BLE001 - fails the batch, without the row's values
                yield type(error).__name__, f"at {line_of(error, file)}, for the row of {place}"
                return
            done += 1
        yield done


def _load(text: str, file: str, name: str) -> Callable[..., Any]:
    module = ModuleType(f"weir_hook_{Path(file).stem}")
    exec(compile(text, file, "exec"), vars(module))  # the user's own file below conf/, as for gold tables
    function: Callable[..., Any] = getattr(module, name)
    return function
