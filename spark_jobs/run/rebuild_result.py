"""What a rebuild ends with: the tables that it replaced and what differs, or why it could not."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_jobs.config.text import count
from spark_jobs.run.result import EXIT_CODES, State, Status, TableRun

if TYPE_CHECKING:
    from spark_jobs.run.result import TableRun
    from spark_jobs.verify.result import TableCheck


@dataclass(frozen=True)
class Rebuild:
    """What a rebuild ends with. `differences` compares each table as it was with the one that was built;
    `tables` are those that were replaced, with their new versions and the rows from which they were built.
    `report` and `verdict` as of a run.
    """

    pipeline: str
    status: Status
    message: str
    run_id: str | None = None
    seconds: float = 0.0
    differences: tuple["TableCheck", ...] = ()
    tables: tuple[TableRun, ...] = ()
    report: str | None = None
    verdict: str | None = None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        said = {
            "pipeline": self.pipeline,
            "run_id": self.run_id,
            "status": self.status.value,
            "exit_code": self.exit_code,
        }
        replaced = {run.table: run.as_dict() for run in self.tables}
        compared = {difference.table: difference.as_dict() for difference in self.differences}
        tables = [
            {**replaced.get(table, {}), **compared.get(table, {})} for table in {**compared, **replaced}
        ]
        page = {"report": self.report, "verdict": self.verdict}
        return {**said, "message": self.message, "seconds": round(self.seconds, 2), "tables": tables, **page}


class RebuildFailed(Exception):
    """A table could not be rebuilt, or its rules block it; those that stand were not touched."""

    def __init__(self, table: str, cause: str, state: State) -> None:
        self.table, self.cause, self.state = table, cause, state
        super().__init__(f"{table}: {cause}")


class NativeFailed(RebuildFailed):
    """A native table could not start over after the others were replaced; readers see its old rows until a
    run succeeds.
    """


def describe_difference(found: "TableCheck") -> str:
    rows = count(found.rows, "row")
    if found.is_equal:
        return f"{found.table}: nothing changes, {rows}"
    beside = "".join(f"; {problem}" for problem in found.problems)
    if not (found.only_here or found.only_recomputed or found.different):
        return f"{found.table}: {rows}, the same as far as both have their columns{beside}"
    changes = (
        f"{found.only_recomputed:,} new, {found.only_here:,} no longer there, {found.different:,} different"
    )
    return f"{found.table}: {rows} now, {found.recomputed:,} built: {changes}{beside}"
