"""What a verification ends with: a status, its exit code, and for every table what differs."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.config.text import plain

SHOWN_LENGTH = 80


class Outcome(StrEnum):
    OK = "ok"
    DIFFERENT = "different"
    FAILED = "failed"
    CONFIG_ERROR = "config_error"
    USAGE_ERROR = "usage_error"
    NOTHING_TO_DO = "nothing_to_do"
    LEASED = "leased"


EXIT_CODES = {
    Outcome.OK: 0, Outcome.DIFFERENT: 1, Outcome.FAILED: 1, Outcome.CONFIG_ERROR: 2, Outcome.USAGE_ERROR: 2,
    Outcome.NOTHING_TO_DO: 3, Outcome.LEASED: 5,
}  # fmt: skip


class Kind(StrEnum):
    ONLY_HERE = "only_here"
    ONLY_RECOMPUTED = "only_recomputed"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Difference:
    """One row that differs: its key, and per column what the table has and what was recomputed. Values are as
    a person reads them.
    """

    kind: Kind
    key: dict[str, str]
    columns: dict[str, tuple[str | None, str | None]]

    def as_dict(self) -> dict[str, Any]:
        columns = [
            {"column": name, "table": here, "recomputed": again}
            for name, (here, again) in self.columns.items()
        ]
        return {"kind": self.kind.value, "key": self.key, "columns": columns}


@dataclass(frozen=True)
class TableCheck:
    """One table against what bronze gives. `problems` are differences of its columns, `hint` says what may
    have led to them, `skipped` why it cannot be recomputed. Of a bronze table: how many `files` were read
    again, and those that were not, each with the reason.
    """

    table: str
    rows: int = 0
    recomputed: int = 0
    only_here: int = 0
    only_recomputed: int = 0
    different: int = 0
    first: tuple[Difference, ...] = ()
    problems: tuple[str, ...] = ()
    hint: str | None = None
    error: str | None = None
    skipped: str | None = None
    seconds: float = 0.0
    sampled: int | None = None
    """Of a dimension or silver table: the records that were decoded a second time, and below what was left
    out of that.
    """
    left_out: tuple[str, ...] = ()
    files: int | None = None
    not_compared: tuple[tuple[str, str], ...] = ()

    @property
    def is_equal(self) -> bool:
        return not (self.only_here or self.only_recomputed or self.different or self.problems or self.error)

    def as_dict(self) -> dict[str, Any]:
        numbers = {
            name: getattr(self, name)
            for name in ("rows", "recomputed", "only_here", "only_recomputed", "different")
        }
        said: dict[str, Any] = {
            "problems": list(self.problems),
            "hint": self.hint,
            "error": self.error,
            "skipped": self.skipped,
            "seconds": round(self.seconds, 2),
        }
        if self.sampled is not None:
            said |= {"sampled": self.sampled, "left_out": list(self.left_out)}
        if self.files is not None:
            said |= {
                "files": self.files,
                "not_compared": [{"path": path, "reason": reason} for path, reason in self.not_compared],
            }
        return {
            "table": self.table,
            "is_equal": self.is_equal,
            **numbers,
            "first": [row.as_dict() for row in self.first],
            **said,
        }


@dataclass(frozen=True)
class Verification:
    pipeline: str
    status: Outcome
    message: str
    tables: tuple[TableCheck, ...] = ()
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline,
            "status": self.status.value,
            "exit_code": self.exit_code,
            "message": self.message,
            "seconds": round(self.seconds, 2),
            "tables": [table.as_dict() for table in self.tables],
        }


def shown(value: str | None, is_text: bool) -> str:
    """A value on one line of bounded length; text is quoted, so that blanks and an empty one can be seen."""
    text = "NULL" if value is None else repr(value) if is_text else plain(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 1]}…"
