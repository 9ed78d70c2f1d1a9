"""What a sink has delivered, by its ledger: how many rows the other side must have, and of which version of the table."""

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import count_rows, has_version
from spark_jobs.lake.ledger import AFTER, Ledger

BEGIN, COMPLETE = "begin", "complete"
"""Steps of a sink, beside its stream: the first batch of a generation, and one that delivers the whole table."""


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
    """(rows that should be there, rows that the table has) where the two differ; the second from the log of the table alone."""
    delivered, version = delivered_rows(ledger, sink, generation)
    if version is None or not has_version(table, version):
        return None
    standing = count_rows(table, version)
    return (delivered, standing) if delivered != standing else None
