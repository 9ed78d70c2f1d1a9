"""The counts that must agree: what the batches of a table say became of its rows, and the rows that are
there. Read from the logs alone.
"""

from collections.abc import Iterator, Mapping

from spark_jobs.config.pipeline import Pipeline, Silver
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import count_records, count_standing
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger


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
