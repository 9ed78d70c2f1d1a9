"""One thing that was looked at: how it is, and what to do where it is not well."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_jobs.failure import first_line

OK, WARNING, BAD = "ok", "warning", "bad"


@dataclass(frozen=True)
class Fix:
    """What `--fix` may do without asking: it changes no row, and nothing that a person has decided. `do` says
    why it could not, or None.
    """

    what: str
    do: Callable[[], str | None]


@dataclass(frozen=True)
class Finding:
    """`area` is machine, project, storage, airflow, or the name of a pipeline."""

    area: str
    about: str
    state: str
    message: str
    remedy: str = ""
    fix: Fix | None = None

    def as_dict(self) -> dict[str, Any]:
        said = {name: value for name, value in vars(self).items() if name != "fix"}
        return {**said, "fix": self.fix.what if self.fix else None}


def ok(area: str, about: str, message: str) -> Finding:
    return Finding(area, about, OK, message)


def looked_at(
    area: str, about: str, look: Callable[[], Iterator[Finding]], remedy: str = "remove the cause"
) -> list[Finding]:
    """What a look finds; where it fails, that is the finding: the others are made, whatever is broken."""
    try:
        return list(look())
    except Exception as error:  # noqa: BLE001 - a damaged file, a store that is away: said with its cause
        return [Finding(area, about, BAD, f"it cannot be looked at: {first_line(error)}", remedy)]
