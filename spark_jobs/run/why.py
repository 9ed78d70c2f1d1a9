"""Why a table is due, in words for a person."""

from typing import Any

from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import count
from spark_jobs.lake.delta_log import count_rows
from spark_jobs.lake.ledger import ANEW
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.landing.look import Look
from spark_jobs.run.plan import ARRIVALS, DEFINITION, WATERMARK, Plan

SWAP = "a rebuild that was cut is to be finished"


def say_why(plan: Plan, table: str, consumed: dict[str, Any] | None, looks: dict[str, Look], verdicts: Verdicts) -> str:
    """All reasons for which this table is due."""
    current, before = plan.current_inputs(table), consumed or {}
    moved = plan.moved_inputs(table, current, consumed)
    reasons = []
    if held := verdicts.held(table, plan.generation(table)):
        reasons.append(f"a batch that is held is judged again ({', '.join(held.failed)})")
    if moved and consumed is None and ARRIVALS not in current:
        reasons.append(f"it is not made yet, and {_list([name for name in current if '.' in name and current[name] is not None])} is there")
    else:
        reasons += [_say_moved(plan, table, name, before.get(name), current.get(name), looks) for name in moved]
    if plan.has_waited_enough(table):
        reasons.append("parked rows are to be given up")
    return "; ".join([*reasons, *(f"a {step} that was cut is to be finished" for step in plan.cut_errands(table))])


def say_files(look: Look) -> str:
    """The files that bronze is to read."""
    return f"{count(len(look.to_read), 'new file')}, {count(new_bytes(look), 'byte')}"


def new_bytes(look: Look) -> int:
    return sum(row["size"] - (row["start_byte"] or 0) for row in look.to_read)


def _say_moved(plan: Plan, table: str, name: str, before: Any, now: Any, looks: dict[str, Look]) -> str:
    if name == ANEW:
        return "everything is to be delivered anew" if table.startswith("sink.") else "it begins anew after a rebuild"
    if name == ARRIVALS:
        look = looks.get(table.partition(".")[2])
        if look and look.to_read and not isinstance(plan.pipeline.sources[table.partition(".")[2]], FileSource):
            return f"{count(new_bytes(look), 'new message')} in {count(len(look.to_read), 'partition')}"
        return say_files(look) if look and look.to_read else f"its arrivals moved from chunk {before} to {now}"
    if name == DEFINITION:
        return "its definition changed"
    if name == WATERMARK:
        return f"the watermark moved to {max((at for at in now or () if at), default='the beginning')}"
    if now is None:
        return f"{name} is no longer read"
    if before is None:
        return f"{name} has come"
    waits = name.startswith("dimension.") and count_rows(plan.lake.table(f"parked.{table}"))
    return f"{name} moved from version {before} to {now}" + (
        f", and {count(waits, 'parked row waits', 'parked rows wait')} for a member" if waits else ""
    )


def _list(names: list[str]) -> str:
    return " and ".join(names) or "its input"
