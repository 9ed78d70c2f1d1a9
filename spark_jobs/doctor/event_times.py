"""Records with a wrong time, by what they have done: a watermark that lies ahead of the clock, or that one
record alone has moved far ahead of all others. Windows are closed that rows still come for.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from spark_jobs.config.names import other_pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.doctor.finding import BAD, WARNING, Finding
from spark_jobs.lake.delta_table import TABLE, DeltaTable, ask, names_of
from spark_jobs.operations.status import PipelineStatus, TableStatus
from spark_jobs.run.plan import Plan

AHEAD = timedelta(minutes=5)
ALONE = timedelta(days=7)
"""So far behind the greatest event time no other may lie, or it looks wrong."""
NEWEST = f"SELECT DISTINCT _event_at AS at FROM {TABLE} WHERE _event_at IS NOT NULL ORDER BY 1 DESC LIMIT 2"


def look_at_times(plan: Plan, status: PipelineStatus, now: datetime) -> Iterator[Finding]:
    """One finding for each silver table whose event time moves a watermark that may be shown."""
    seen = set[str]()
    for table in status.tables:
        silver = _silver_of(plan, table)
        if silver is None or silver in seen or table.watermark is None:
            continue
        seen.add(silver)
        where = _where(table)
        remedy = (
            "set `future` of its event time tighter, or leave the row out by `where`"
            f" (docs/pipeline-file.md, A wrong clock), and `weir rebuild {status.pipeline} {silver}`"
        )
        if table.watermark - now > AHEAD:
            message = f"the watermark of {table.table} is {_moment(table.watermark)}, moved there by {where}"
            yield Finding(status.pipeline, "event times", BAD, f"{message}: rows of now are late", remedy)
        elif gap := _gap(plan.lake.table(silver)):
            message = (
                f"the greatest event time of {silver}, of {where}, lies {gap.days:,} days ahead of all"
                " others: rows in between are late"
            )
            yield Finding(status.pipeline, "event times", WARNING, message, f"if it is wrong: {remedy}")


def _silver_of(plan: Plan, table: TableStatus) -> str | None:
    layer, name = TableName(table.table).parts
    gold = plan.pipeline.gold.get(name) if layer == "gold" else None
    if gold is None or not gold.from_ or other_pipeline(gold.from_) or not table.watermark_by:
        return None
    return gold.from_


def _gap(path: str) -> timedelta | None:
    table = DeltaTable(path)
    if "_event_at" not in names_of(table):
        return None
    found = [row["at"] for row in ask(table, NEWEST)]
    return found[0] - found[1] if len(found) > 1 and found[0] - found[1] > ALONE else None


def _where(table: TableStatus) -> str:
    moved_by = table.watermark_by or {}
    return f"{moved_by['file']!r} line {moved_by['line']}" if moved_by.get("file") else "a record"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
