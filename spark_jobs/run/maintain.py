"""`weir maintain`: the upkeep of a pipeline's tables and of what stands beside them, under its lease and
without a JVM.

Rows stay as they are. A version that moves by upkeep alone counts as consumed for those who had consumed the
one before, so that the next run has nothing to do. Killed anywhere it leaves work for the next time, and
nothing else.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from spark_jobs.config import Project
from spark_jobs.config.graph import order_tables
from spark_jobs.config.names import NAME
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.failure import first_line, keep_trace_outside
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.layout import SIDES, Lake
from spark_jobs.lake.lease import Lease, LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_batches import AFTER
from spark_jobs.lake.ledger_tables import SWAPPING, UPKEEP_RUN
from spark_jobs.lake.storage import exists, names_in, remove
from spark_jobs.lake.upkeep import (
    AT_LEAST,
    Files,
    Need,
    RetentionTooShort,
    check_retention,
    checkpoint_log,
    compact_files,
    delete_expired,
    expired_files,
    first_in_need,
    measure_files,
    shorten_log,
)
from spark_jobs.run.leftovers import (
    list_reports_again,
    old_checkpoints,
    old_logs,
    old_reports,
    rebuilt_beside,
)
from spark_jobs.run.plan import Plan, make_plan
from spark_jobs.run.result import EXIT_CODES, Status


@dataclass(frozen=True)
class TableUpkeep:
    """What was done to one table, or is to be done. `kept_for` says why files that are due to be deleted were
    not.
    """

    table: str
    before: Files
    after: Files
    is_compacted: bool = False
    deleted: int = 0
    kept_for: str | None = None
    refused: str | None = None

    @property
    def is_changed(self) -> bool:
        return self.is_compacted or self.deleted > 0

    def as_dict(self) -> dict[str, Any]:
        said = {
            "is_compacted": self.is_compacted,
            "deleted": self.deleted,
            "kept_for": self.kept_for,
            "refused": self.refused,
        }
        return {"table": self.table, "before": self.before.as_dict(), "after": self.after.as_dict(), **said}


@dataclass(frozen=True)
class Maintenance:
    pipeline: str
    status: Status
    message: str
    seconds: float = 0.0
    tables: tuple[TableUpkeep, ...] = ()
    removed: dict[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        said = {
            "pipeline": self.pipeline,
            "status": self.status.value,
            "exit_code": self.exit_code,
            "message": self.message,
        }
        return {
            **said,
            "seconds": round(self.seconds, 2),
            "tables": [table.as_dict() for table in self.tables],
            "removed": self.removed,
        }


def maintain_pipeline(project: Project, name: str, is_dry: bool = False) -> Maintenance:
    """Look after all tables of a pipeline; with `is_dry` only say what there is to do."""
    started, lake = time.monotonic(), Lake(project.lake, name)
    if not exists(lake.lease()):
        return Maintenance(name, Status.NOTHING_TO_DO, "there are no tables yet")
    try:
        with hold_lease(lake.lease(), name, "weir maintain") as lease:
            upkeep = _Upkeep(project, make_plan(project.pipelines[name], project.conf, lake), lease, is_dry)
            tables = tuple(upkeep.tables())
            removed = upkeep.beside_the_tables()
    except LeaseHeld as held:
        return Maintenance(name, Status.LEASED, str(held))
    except Exception as error:  # noqa: BLE001 - a full disk, a damaged table: the upkeep fails with the cause, and may be done again
        log_file = keep_trace_outside(project.root, name, "the upkeep", error)
        return Maintenance(
            name, Status.FAILED, f"{first_line(error)}; log: {log_file}; fix the cause and rerun"
        )
    return _sum_up(name, tables, removed, is_dry, time.monotonic() - started)


def _sum_up(
    name: str, tables: tuple[TableUpkeep, ...], removed: dict[str, int], is_dry: bool, seconds: float
) -> Maintenance:
    compacted, deleted = (
        [table for table in tables if table.is_compacted],
        sum(table.deleted for table in tables),
    )
    files = (
        f"files put together: {sum(table.before.count for table in compacted):,}, tables: {len(compacted)}"
    )
    parts = [*([files] if compacted else []), *([f"old files deleted: {deleted:,}"] if deleted else [])]
    parts += [f"{what} removed: {number:,}" for what, number in removed.items() if number]
    refused = [table.refused for table in tables if table.refused]
    if refused:
        done = f"{'to do' if is_dry else 'done'}: {', '.join(parts)}"
        status, message = Status.CONFIG_ERROR, "\n".join([*refused, *([done] if parts else [])])
    elif parts:
        status, message = Status.OK, f"{', '.join(parts)}{'; this was a dry run' if is_dry else ''}"
    else:
        status, message = Status.NOTHING_TO_DO, "no small files, nothing that is old"
    return Maintenance(name, status, message, seconds, tables, removed)


class _Upkeep:
    """One maintenance at work. `consumed` is what each table has consumed, and follows the versions that move
    here.
    """

    def __init__(self, project: Project, plan: Plan, lease: Lease, is_dry: bool) -> None:
        plan.ledger.guard = lease.check
        self.project, self.plan, self.lease, self.is_dry = project, plan, lease, is_dry
        self.consumed = plan.ledger.consumed_inputs()
        self.run_id = f"{UPKEEP_RUN}{uuid.uuid4().hex[:8]}"
        self.is_swapping = any(known.state == SWAPPING for known in plan.ledger.definitions().values())

    def tables(self) -> Iterator[TableUpkeep]:
        """The tables, inputs first, then the arrivals, and last the ledger, which is written to meanwhile."""
        for table in self.plan.tables if not self.is_swapping else ():
            for name in (table, *(f"{side}.{table}" for side in SIDES)):
                if table_version(self.plan.lake.table(name)) is not None:
                    yield self._look_after(name, self.plan.lake.table(name))
        for source in self.plan.pipeline.sources:
            if table_version(self.plan.lake.arrivals(source)) is not None:
                yield self._look_after(f"arrivals.{source}", self.plan.lake.arrivals(source))
        for name in names_in(self.plan.lake.ledgers):
            if table_version(self.plan.lake.ledger(name)) is not None:
                yield self._look_after(f"ledger.{name}", self.plan.lake.ledger(name))

    def beside_the_tables(self) -> dict[str, int]:
        """What else is old, by kind."""
        name = self.plan.pipeline.name
        found = {
            "old checkpoints": [] if self.is_swapping else old_checkpoints(self.plan),
            "cut rebuilds": [] if self.is_swapping else rebuilt_beside(self.plan),
            "reports": old_reports(self.project, name),
            "logs": old_logs(self.project, name, datetime.now(UTC)),
        }
        if not self.is_dry:
            self.lease.check()
            for place in (place for places in found.values() for place in places):
                remove(place)
            if found["reports"]:
                list_reports_again(self.project, name)
        return {what: len(paths) for what, paths in found.items()}

    def _look_after(self, table: str, path: str) -> TableUpkeep:
        before = measure_files(path)
        try:
            check_retention(path, table)
        except RetentionTooShort as error:
            return TableUpkeep(table, before, before, refused=str(error))
        is_compacted = self._compact(table, path, before)
        expired = expired_files(path, table)
        need = first_in_need(path, table_version(path) or 0, expired, self._needs(table))
        deleted = len(expired) if need is None else 0
        if deleted and not self.is_dry:
            was = table_version(path)
            self.lease.check()
            reach("upkeep.before", table, "delete")
            delete_expired(path, table)
            reach("upkeep.after", table, "delete")
            self._follow(table, was, path)
        kept_for = (
            f"{count(len(expired), 'old file stays', 'old files stay')}, because {need.who} still needs them"
            if need
            else None
        )
        return TableUpkeep(table, before, measure_files(path), is_compacted, deleted, kept_for)

    def _compact(self, table: str, path: str, before: Files) -> bool:
        if before.small < AT_LEAST or self.is_dry:
            return before.small >= AT_LEAST
        was = table_version(path)
        self.lease.check()
        reach("upkeep.before", table, "compact")
        compact_files(path)
        reach("upkeep.after", table, "compact")
        if table_version(path) == was:
            return False
        self._follow(table, was, path)
        if TableName(table).is_in("arrivals", "ledger"):
            checkpoint_log(path)
        if TableName(table).is_in("ledger"):
            shorten_log(path)
        return True

    def _follow(self, table: str, was: int | None, path: str) -> None:
        """Whoever had consumed the version before has consumed this one: it has the same rows. That may also
        be a table beside one of its inputs.
        """
        now = table_version(path)
        for reader in self.plan.tables:
            known = self.consumed.get(reader, {})
            if table in known and known[table] == was:
                self.consumed[reader] = {**known, table: now}
                version = table_version(self.plan.lake.table(reader))
                self.plan.ledger.write_table(
                    self.run_id, reader, 0.0, self.consumed[reader], version, 0, Counts()
                )

    def _needs(self, table: str) -> list[Need]:
        """Those who have not read all of the table yet, and batches that were cut and are done again from the
        versions they began with.
        """
        layer, name = TableName(table).parts
        if layer == "arrivals":
            return [
                Need(
                    f"bronze.{name}",
                    self.consumed.get(f"bronze.{name}", {}).get("arrivals") or -1,
                    is_whole=False,
                )
            ]
        readers = [reader for reader, inputs in self.plan.tables.items() if table in inputs]
        needs = [
            Need(reader, -1 if (since := self.consumed.get(reader, {}).get(table)) is None else since)
            for reader in readers
        ]
        return [
            *needs,
            *_cut_batches(self.plan.ledger, table),
            *self._needs_of_others(f"{self.plan.pipeline.name}.{table}"),
        ]

    def _needs_of_others(self, table: str) -> Iterator[Need]:
        """Batches of other pipelines that read the table, cut ones and those at work now. A reader that is
        merely behind needs none of the old files: where changes are no longer kept, it takes the table as it
        stands. One that is not loaded is asked too: its ledger says what its batches read.
        """
        for name in filter(NAME.fullmatch, names_in(self.project.lake)):
            known, conf = self.project.pipelines.get(name), self.project.conf
            if known is None or any(table in inputs for inputs in order_tables(known, conf).values()):
                yield from _cut_batches(Ledger(Lake(self.project.lake, name)), table, f"{name}.")


def _cut_batches(ledger: Ledger, table: str, prefix: str = "") -> Iterator[Need]:
    """Batches that were begun and not ended, of tables as they stand: they need the version that they read,
    and the changes up to it.
    """
    live = ledger.live_definitions()
    for (owner, step, generation, number), intent in ledger.open_intents().items():
        read, after = intent.inputs.get(table), intent.inputs.get(AFTER)
        if isinstance(read, int) and generation == (live[owner].generation if owner in live else 1):
            who = (
                f"batch {number} of {prefix}{owner} ({step}), begun {intent.begun_at:%Y-%m-%d %H:%M} and not"
                " ended,"
            )
            yield Need(who, min(read, after) if isinstance(after, int) else read)
