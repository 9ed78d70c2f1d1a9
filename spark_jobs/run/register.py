"""Registers what landed for the sources of a run, and says which files were not taken."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.config import Project
from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import count
from spark_jobs.lake.lease import Lease
from spark_jobs.landing.arrivals import Row
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import Arrivals, register_arrivals
from spark_jobs.landing.skipped import LISTED, say_more
from spark_jobs.landing.streams import broker_settings, register_stream
from spark_jobs.run.plan import Plan

if TYPE_CHECKING:
    pass


def register_landed(
    project: Project, plan: Plan, lease: Lease, files_per_batch: int | None
) -> tuple[Plan, tuple[str, ...]]:
    """Register what landed for the sources in this plan; what was not taken becomes a warning. Of streams the
    plan knows what is new.
    """
    warnings, consumed, ahead = list[str](), plan.ledger.consumed_inputs(), dict[str, list[Row]]()
    for name, source in plan.pipeline.sources.items():
        table = f"bronze.{name}"
        if table in plan.tables and not isinstance(source, FileSource):
            feed = make_feed(plan.lake, project.landing, name, source, lease.check)
            ahead[name] = register_stream(
                feed,
                datetime.now(UTC),
                consumed.get(table, {}).get("arrivals"),
                broker_settings(project, source),
            )
        elif table in plan.tables:
            chosen = (
                source
                if files_per_batch is None
                else source.model_copy(update={"files_per_batch": files_per_batch})
            )
            feed = make_feed(plan.lake, project.landing, name, chosen, lease.check)
            found = register_arrivals(feed, datetime.now(UTC), consumed.get(table, {}).get("arrivals"))
            warnings += _not_taken(plan.pipeline.name, name, found)
    return replace(plan, ahead=ahead), tuple(warnings)


def _not_taken(pipeline: str, source: str, found: Arrivals) -> list[str]:
    """A few lines for each kind of file that brings no rows, the number of the others, and where they are
    listed.
    """
    kinds = {
        "refused": found.refused,
        "repeated": found.repeated,
        "waiting": found.waiting,
        "unread": found.unread,
    }
    lines = [
        f"{source}: {path!r} {kind}: {reason}"
        for kind, named in kinds.items()
        for path, reason in named[:LISTED]
    ]
    for kind, total in ((kind, len(named)) for kind, named in kinds.items() if len(named) > LISTED):
        is_listed = kind in ("refused", "repeated")
        more = f"{source}: {count(total - LISTED, 'more file')} {kind} ({total:,} in all)"
        lines.append(say_more(pipeline, source, kind, total) if is_listed else more)
    return lines
