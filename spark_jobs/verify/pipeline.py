"""`weir verify`: recomputes what bronze gives and compares it with the tables. What leaves: a Verification,
never a traceback.

It holds the pipeline's lease while it reads, so that nothing moves, and it writes nothing but its log.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.config import Project
from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.graph import order_tables
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.failure import first_line, keep_trace
from spark_jobs.lake.delta_log import count_rows, table_bytes, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease, LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.packing import TIMES_COLUMNAR
from spark_jobs.session.jvm_end import note_done, note_work
from spark_jobs.verify.result import Outcome, TableCheck, Verification

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.verify.sample import Sampled

DIFFERING_ROWS = 5
NOT_RECOMPUTED = "what it has kept in its state, and when, is not in the tables"

Start = Callable[[], AbstractContextManager["SparkSession"]]
Tell = Callable[[TableCheck], None]


@dataclass(frozen=True)
class _Order:
    """What is to be verified, and where."""

    project: Project
    pipeline: Pipeline
    lake: Lake
    inputs: dict[str, tuple[str, ...]]
    chosen: tuple[str, ...]
    rows: int
    log_file: Path


def verify_pipeline(
    project: Project,
    name: str,
    profile: Profile,
    select: Collection[str] = (),
    rows: int = DIFFERING_ROWS,
    start: Start | None = None,
    tell: Tell = lambda check: None,
) -> Verification:
    """Verify the tables of a pipeline, or those selected. `start` gives another session than its own; `tell`
    hears of each table.
    """
    started, lake, pipeline = time.monotonic(), Lake(project.lake, name), project.pipelines[name]
    inputs = {
        table: needed
        for table, needed in order_tables(pipeline, project.conf).items()
        if not TableName(table).is_sink
    }
    chosen = _chosen(inputs, select)
    if all(table_version(lake.table(table)) is None for table in inputs):
        return Verification(
            name,
            Outcome.NOTHING_TO_DO,
            f"there is no table of {name} in {project.lake} yet; `weir run {name}` makes them",
        )
    log_file = project.root / "logs" / name / f"verify-{datetime.now(UTC):%Y%m%dT%H%M%S}.log"
    order = _Order(project, pipeline, lake, inputs, chosen, rows, log_file)
    try:
        with hold_lease(lake.lease(), name, "weir verify") as lease:
            found = _verify_under_lease(order, start or _own_session(order, profile, lease), tell)
    except LeaseHeld as held:
        return Verification(name, Outcome.LEASED, str(held))
    return replace(found, seconds=time.monotonic() - started)


def _chosen(inputs: Collection[str], select: Collection[str]) -> tuple[str, ...]:
    """All tables but bronze, or those selected by their full names."""
    tables = [table for table in inputs if not TableName(table).is_bronze]
    for name in select:
        if name not in tables:
            why = (
                "bronze is what tables are verified with" if name in inputs else f"there is no table {name!r}"
            )
            raise UsageError("--select", name, why, did_you_mean(name, tables))
    return tuple(table for table in tables if not select or table in select)


def _own_session(order: _Order, profile: Profile, lease: Lease) -> Start:
    from spark_jobs.verify.session import start_session

    size = TIMES_COLUMNAR * sum(
        table_bytes(order.lake.table(source)) for sources in order.inputs.values() for source in sources
    )
    return lambda: start_session(
        order.project, profile, order.pipeline.name, size, lease.descriptor, order.log_file
    )


def _verify_under_lease(order: _Order, start: Start, tell: Tell) -> Verification:
    name, checks = order.pipeline.name, list[TableCheck]()
    try:
        with start() as spark:
            for check in _check_tables(order, spark):
                tell(check)
                checks.append(check)
    except Exception as error:  # noqa: BLE001 - Spark did not start, or ended: the verification fails with the cause
        keep_trace(order.log_file, "the verification", error)
        return Verification(
            name, Outcome.FAILED, f"{first_line(error)}; log: {order.log_file}", tuple(checks)
        )
    given_by = "bronze gives" if order.pipeline.sources else "the tables they read give"
    return Verification(name, *_verdict(checks, given_by, order.log_file), tuple(checks))


def _check_tables(order: _Order, spark: "SparkSession") -> Iterator[TableCheck]:
    from spark_jobs.verify.compare import compare  # the JVM's side
    from spark_jobs.verify.published import Standing
    from spark_jobs.verify.recompute import Recomputation
    from spark_jobs.verify.sample import decode_sample
    from spark_jobs.verify.targets import targets_of

    consumed = Ledger(order.lake).consumed_inputs()
    again = Recomputation(
        order.pipeline, order.project.conf, Standing(spark.newSession(), order.lake), order.inputs, consumed
    )
    try:
        for table in order.chosen:
            hint = _hint(order, table, consumed.get(table, {}))
            hidden = sensitive_columns(order.pipeline, table, order.project.conf)
            if again.is_beyond(table):
                yield TableCheck(table, rows=count_rows(order.lake.table(table)), skipped=NOT_RECOMPUTED)
            for name, build in targets_of(again, table):
                started = time.monotonic()
                note_work(name)
                try:
                    check = compare(build(), order.rows, hidden)
                    if name == table and TableName(table).has_keys:
                        check = _with_sample(check, decode_sample(again, table, hidden), order.rows)
                except Exception as error:  # noqa: BLE001 - what one table's SQL or function raises must not hide the others
                    keep_trace(order.log_file, name, error)
                    check = TableCheck(name, error=first_line(error))
                hinted = check if check.is_equal or check.error else replace(check, hint=hint)
                note_done(name)
                yield replace(hinted, seconds=time.monotonic() - started)
    finally:
        again.release()


def _with_sample(check: TableCheck, sampled: "Sampled", rows: int) -> TableCheck:
    """A value that plain Python decodes in another way is a problem of the table, however equal it is to its
    recomputation.
    """
    number = len(sampled.differences)
    said = (
        f"of {count(sampled.records, 'sampled record')} {count(number, 'value is', 'values are')} decoded"
        " otherwise in plain Python"
    )
    more = (said, *sampled.differences[:rows]) if number else ()
    return replace(
        check, sampled=sampled.records, left_out=sampled.left_out, problems=(*check.problems, *more)
    )


def _hint(order: _Order, table: str, consumed: dict[str, object]) -> str | None:
    """A table that has not taken in all of its inputs is behind rather than wrong. Those of other pipelines
    are read as it took them.
    """
    own = [source for source in order.inputs[table] if other_pipeline(source) is None]
    moved = [source for source in own if consumed.get(source) != table_version(order.lake.table(source))]
    return (
        f"it has not taken in all of {', '.join(moved)}: `weir run {order.pipeline.name}`, then verify again"
        if moved
        else None
    )


def _verdict(checks: list[TableCheck], given_by: str, log_file: Path) -> tuple[Outcome, str]:
    failed = [check for check in checks if check.error]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return (
            Outcome.FAILED,
            f"{failed[0].table} could not be recomputed{more}: {failed[0].error}; log: {log_file}",
        )
    different = [check.table for check in checks if not check.is_equal]
    if different:
        differ = "differs" if len(different) == 1 else "differ"
        found = f"{len(different):,} of {count(len(checks), 'table')} {differ} from what {given_by}"
        return Outcome.DIFFERENT, f"{found}: {', '.join(different)}"
    compared = [check for check in checks if not check.skipped]
    more = (
        f"; not recomputed: {', '.join(check.table for check in checks if check.skipped)}"
        if len(compared) < len(checks)
        else ""
    )
    rows = sum(check.rows for check in compared)
    return (
        Outcome.OK,
        f"{count(len(compared), 'table is', 'tables are')} what {given_by}, {count(rows, 'row')}{more}",
    )
