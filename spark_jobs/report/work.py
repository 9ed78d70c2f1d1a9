"""What runs did to tables, from the ledger alone: the page of a run and the list of runs read it here, and
nobody guesses a state again.

States, errors and allowed actions are rows of the ledger's `states`; of runs of earlier versions, which wrote
none, they are derived from their batches and verdicts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.config.table_name import TableName
from spark_jobs.lake.counts import Counts, Totals, add_up
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import read_where
from spark_jobs.lake.sequence import MARKER, read_markers, read_ordered
from spark_jobs.lake.states import TableEnd, derive_states, read_states
from spark_jobs.report.account import REENRICH
from spark_jobs.report.facts import GateFact, Run, TableState, TableWork
from spark_jobs.report.rules import FOUND, GATE, PASSED, found_rules, gate_of, once_each
from spark_jobs.report.runs import RUNNING
from spark_jobs.report.text import cut

COUNTS = list(Counts().as_dict())
TEXT_LENGTH = 500
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Work:
    """The ledger's rows about the tables of some runs, by run."""

    lake: Lake
    batches: dict[str, list[Row]]
    ended: dict[str, list[Row]]
    judged: dict[str, list[Row]]
    gates: dict[str, list[Row]]
    drift: dict[str, list[Row]]
    states: dict[str, dict[str, TableEnd]]

    @classmethod
    def read(cls, lake: Lake, runs: Sequence[Run]) -> "Work":
        ids = [run.run_id for run in runs]
        wanted = {"run_id": ids}
        return cls(
            lake,
            _by_run(read_markers(lake, ["run_id", "started_at", "ended_at", *COUNTS], wanted)),
            _by_run(
                read_ordered(lake, "tables", ["run_id", "table", "ended_at", "seconds", "version"], wanted)
            ),
            _by_run(once_each(read_ordered(lake, "expectations", [*FOUND, *MARKER], wanted))),
            _by_run(read_ordered(lake, "gates", GATE, wanted)),
            _by_run(read_where(lake.ledger("drift"), ["run_id", "source", "field"], wanted)),
            read_states(lake, ids),
        )

    def tables_of(self, run: Run) -> dict[str, TableWork]:
        """The tables that have a part in this run."""
        batches, rules = _by(self.batches[run.run_id], "table"), _by(self.judged[run.run_id], "table")
        ended = {row["table"]: row for row in self.ended[run.run_id]}
        known = self.states.get(run.run_id) or derive_states(
            run.run_id, run.status, self.batches[run.run_id], ended, self.gates[run.run_id]
        )
        names = dict.fromkeys([*known, *batches, *rules])
        return {
            name: self._table(run, name, batches[name], ended.get(name), known.get(name), rules[name])
            for name in names
        }

    def gates_of(self, run: Run) -> tuple[GateFact, ...]:
        """Its batches that did not simply pass."""
        return tuple(gate_of(row) for row in self.gates[run.run_id] if row["verdict"] != PASSED)

    def drift_of(self, run: Run) -> list[str]:
        return [f"{row['source']}.{cut(row['field'])}" for row in self.drift[run.run_id]]

    def _table(
        self,
        run: Run,
        name: str,
        batches: list[Row],
        ended: Row | None,
        end: TableEnd | None,
        judged: list[Row],
    ) -> TableWork:
        counts = sum_counts(batches)
        state = TableState(end.state) if end else TableState.NOT_IN_RUN
        if run.status == RUNNING and state.is_open:
            state = TableState.RUNNING
        late_kept = (
            end.late_kept
            if end and end.late_kept is not None
            else max(0, counts.late)
            if self._keeps_late(name)
            else 0
        )
        done = (row["ended_at"] - row["started_at"] for row in batches)
        seconds = sum((span.total_seconds() for span in done), 0.0) or None
        return TableWork(
            name=name,
            state=state,
            counts=counts,
            corrected=sum(row["updated"] or 0 for row in batches if _is_correction(row)),
            batches=len(batches),
            seconds=ended["seconds"] if ended else end.seconds if end and end.seconds else seconds,
            late_kept=late_kept,
            error=cut(end.error, TEXT_LENGTH) if end and end.error else None,
            actions=end.actions if end else (),
            seen=end.seen if end else None,
            alarms=tuple(cut(alarm, TEXT_LENGTH) for alarm in end.alarms) if end else (),
            rules=found_rules(judged),
        )

    def _keeps_late(self, table: str) -> bool:
        """Of runs of earlier versions: only a table whose late rows are kept has a table beside it for
        them.
        """
        return TableName(table).is_gold and table_version(self.lake.table(f"late.{table}")) is not None


def totals_of(tables: Iterable[TableWork]) -> Totals:
    return add_up((table.name, table.counts, table.late_kept) for table in tables)


def sum_counts(batches: Sequence[Row]) -> Counts:
    """Of the rows that came; corrections of rows that are there already are none."""
    return sum((Counts.of_row(row) for row in batches if not _is_correction(row)), Counts())


def _is_correction(row: Row) -> bool:
    return bool(row["step"].startswith(REENRICH))


def _by_run(rows: Iterable[Row]) -> dict[str, list[Row]]:
    return _by(rows, "run_id")


def _by(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[name]].append(row)
    return found
