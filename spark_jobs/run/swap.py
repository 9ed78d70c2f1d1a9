"""A rebuilt generation against the current tables, and in their place.

Each table is replaced by one commit, inputs first, so that a reader sees the old rows or the new ones; the
last step is one row per table in the ledger, which makes the new generation the live one. Every step may be
done again. Whoever calls has checked that all that was built is there (stage.py): a table that is not there
is one for which nothing was built.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.table_name import TableName
from spark_jobs.failure import first_line
from spark_jobs.lake import delta_commit, delta_log, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.gate import OpenGate
from spark_jobs.lake.ledger_tables import LIVE, Definition
from spark_jobs.lake.quarantine import count_open
from spark_jobs.lake.tables import Batch
from spark_jobs.run.finish_swap import consumed_by, without_sinks
from spark_jobs.run.order import RunOrder
from spark_jobs.run.plan import Plan
from spark_jobs.run.stage import NotReplaced, with_sides
from spark_jobs.verify.compare import compare
from spark_jobs.verify.result import TableCheck
from spark_jobs.verify.targets import Target

OF_PROCESSING = (
    "_processed_at",
    "_revision",
    "_seen_until",
    "_closed_until",
    "_arrived_at",
    "_confirmed_by",
    "_row_count",
    "_content",
)
PLACE = ("_file", "_file_id", "_line", "_chunk", "_element")


def compare_tables(spark: SparkSession, staged: Plan, live: Plan) -> Iterator[TableCheck]:
    """What a rebuild would change, table by table."""
    for table in without_sinks(staged.tables):
        old, new = (_read(spark, plan, table) for plan in (live, staged))
        if new is not None:
            check = compare(_target(table, old, new, _key(staged, table)), rows=5)
            changes = (
                (*_changed_columns(old, new), *_changed_sides(live, staged, table)) if old is not None else ()
            )
            yield replace(check, problems=(*check.problems, *changes))


def _changed_columns(old: DataFrame, new: DataFrame) -> list[str]:
    """Columns that come or go. One of another type is found by the comparison."""
    come = [f"the column {name!r} is new" for name in new.columns if name not in old.columns]
    return come + [
        f"the column {name!r} is no longer there" for name in old.columns if name not in new.columns
    ]


def _changed_sides(live: Plan, staged: Plan, table: str) -> list[str]:
    """The tables beside it that would hold more or fewer rows than they do. Rows that a person has decided
    about count as gone.
    """
    found = []
    for name in with_sides(table)[:-1]:
        here, again = (_count(plan.lake.table(name)) for plan in (live, staged))
        if here != again:
            found.append(f"{name} has {here:,} row{'' if here == 1 else 's'}, {again:,} built")
    return found


def _count(path: str) -> int:
    return count_open(path) if delta_log.table_version(path) is not None else 0


def swap_tables(
    spark: SparkSession,
    order: RunOrder,
    live: Plan,
    left_out: Mapping[str, Definition],
    on_replaced: Callable[[str], None],
) -> None:
    """Put the rows of the new generation in the place of the old ones. `left_out` are definitions to write
    with those that go live.
    """
    staged = order.plan
    for table in without_sinks(staged.tables):
        order.lease.check()
        _create(live, staged, table)
        for name in with_sides(table):
            rows = _read(spark, staged, name)
            if rows is None and delta_log.table_version(live.lake.table(name)) is not None:
                rows = tables.read(spark, live.lake.table(name)).limit(0)
            if rows is not None:
                reach("swap.before", name)
                definition = staged.definitions[table]
                batch = Batch(
                    live.lake,
                    order.lease,
                    table,
                    "swap",
                    definition.generation,
                    0,
                    order.run_id,
                    datetime.now(UTC),
                    {},
                    OpenGate(),  # what takes its place was judged when it was built
                )
                _overwrite(rows, name, batch)
                reach("swap.after", name)
        on_replaced(table)
    now = replace(live, tables=staged.tables, definitions=live.definitions | staged.definitions)
    consumed = {
        table: consumed_by(now, table, staged.definitions[table]) for table in without_sinks(staged.tables)
    }
    fresh = {table: replace(staged.definitions[table], state=LIVE, stage=None) for table in staged.tables}
    fresh |= {table: replace(fresh[table], starts_after=inputs) for table, inputs in consumed.items()}
    order.ledger.write_definitions(order.run_id, {**left_out, **fresh})


def _overwrite(rows: DataFrame, name: str, batch: Batch) -> None:
    """NotReplaced, with the table's name: what Spark says of a failed write often has none."""
    try:
        tables.overwrite(rows, name, batch, Counts())
    except Exception as error:
        raise NotReplaced(name, first_line(error)) from error


def _read(spark: SparkSession, plan: Plan, name: str) -> DataFrame | None:
    path = plan.lake.table(name)
    return tables.read(spark, path) if delta_log.table_version(path) is not None else None


def _create(live: Plan, staged: Plan, table: str) -> None:
    """A table that was not there before begins with the properties of its layer, and with the columns that
    were built. One that is there gets them with its rows: delta-rs cannot add a column whose name differs
    from another one in case alone.
    """
    path, built = live.lake.table(table), staged.lake.table(table)
    is_new = delta_log.table_version(path) is None and delta_log.table_version(built) is not None
    if is_new and TableName(table).has_keys:
        delta_commit.create_table(path, delta_log.schema_json(built), tables.CHANGE_FEED)


def _key(plan: Plan, table: str) -> tuple[str, ...] | None:
    layer, name = TableName(table).parts
    if layer == "dimension":
        dimension = plan.pipeline.dimensions[name]
        return (*dimension.key, *(["_valid_from"] if dimension.history == "scd2" else []))
    if layer == "silver":
        return tuple(plan.pipeline.silver[name].key or ()) or None
    gold = plan.pipeline.gold[name]
    return (
        (*(["window_start", "window_end"] if gold.window else []), *gold.group_by) or None
        if gold.from_
        else None
    )


def _target(table: str, old: DataFrame | None, new: DataFrame, key: tuple[str, ...] | None) -> Target:
    """Compared is what both have: a column that comes or goes is named, not counted as a difference of every
    row.
    """
    common = [name for name in new.columns if old is None or name in old.columns]
    known = tuple(name for name in key or () if name in common) or None
    left_out = {*OF_PROCESSING, *(PLACE if known else ("_file", "_chunk", "_element")), *(known or ())}
    return Target(table, old, new, known, tuple(name for name in common if name not in left_out))
