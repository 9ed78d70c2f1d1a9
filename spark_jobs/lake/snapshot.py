"""One version of a table, for those who look at it without a JVM: its columns, files, rows and history.
Nothing of it moves while a load writes newer versions.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deltalake.exceptions import DeltaError

from spark_jobs.lake.delta_log import note_of
from spark_jobs.lake.delta_table import DeltaTable
from spark_jobs.lake.storage import read_text

if TYPE_CHECKING:
    import pyarrow.dataset as ds

Version = int | datetime
"""A version by its number, or the one that was the newest at a time."""
AT = re.compile(r"v?(\d{1,18})")
PLAIN_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


class NoSuchVersion(Exception):
    """The log does not tell of this version: it never was, or is older than what is kept."""

    def __init__(self, asked: Version, newest: int) -> None:
        self.asked, self.newest = asked, newest
        what = f"version {asked}" if isinstance(asked, int) else f"version of {asked:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(f"there is no {what}; the newest is {newest}")


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class Commit:
    """An entry of the table's log. `run_id` and `step` are of writes by Weir."""

    version: int
    at: datetime
    operation: str
    run_id: str | None
    step: str | None

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat()}


@dataclass(frozen=True)
class Snapshot:
    path: str
    table: DeltaTable

    @property
    def version(self) -> int:
        return int(self.table.version())

    @property
    def columns(self) -> list[Column]:
        fields = json.loads(self.table.schema().to_json())["fields"]
        return [Column(field["name"], type_name(field["type"])) for field in fields]

    def dataset(self) -> "ds.Dataset":
        return self.table.to_pyarrow_dataset()

    def files(self) -> tuple[int, int]:
        """How many there are, and their bytes."""
        sizes = self.table.get_add_actions(flatten=True).column("size_bytes").to_pylist()
        return len(sizes), sum(sizes)

    def rows(self) -> int:
        """As the log says, where it does."""
        counts = self.table.get_add_actions(flatten=True).column("num_records").to_pylist()
        return sum(counts) if None not in counts else self.dataset().count_rows()

    def history(self, limit: int) -> list[Commit]:
        """The newest commits up to this version, the newest first.

        Of a table at an earlier version delta-rs 1.6 gives the newest commits under wrong numbers.
        """
        newest = DeltaTable(self.path)
        entries = newest.history(limit + int(newest.version()) - self.version)
        return [_commit(entry) for entry in entries if entry["version"] <= self.version][:limit]


def open_snapshot(path: str, at: Version | None = None) -> Snapshot | None:
    """A version of a table, the newest unless one is named; None where there is no table. NoSuchVersion."""
    if not DeltaTable.is_deltatable(path):
        return None
    table = DeltaTable(path)
    newest = int(table.version())
    if at is None:
        return Snapshot(path, table)
    if isinstance(at, int) and at > newest:
        raise NoSuchVersion(at, newest)
    try:
        table.load_as_version(at)
    except DeltaError as gone:
        raise NoSuchVersion(at, newest) from gone
    if isinstance(at, datetime) and _came_after(path, int(table.version()), at):
        raise NoSuchVersion(at, newest)  # of a time before all versions delta-rs gives the first
    return Snapshot(path, table)


def parse_version(text: str) -> Version | None:
    """`v3`, `3`, or a time as in 2026-03-31 or 2026-03-31T12:00:00Z (UTC unless it says otherwise); None
    where it is neither.
    """
    if number := AT.fullmatch(text.strip()):
        return int(number[1])
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def type_name(kind: Any) -> str:
    """A type of Delta's schema, as a pipeline file has it."""
    if isinstance(kind, str):
        return PLAIN_TYPES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{type_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{type_name(kind['keyType'])},{type_name(kind['valueType'])}>"
    fields = (f"{field['name']}:{type_name(field['type'])}" for field in kind["fields"])
    return f"struct<{','.join(fields)}>"


def _came_after(path: str, version: int, at: datetime) -> bool:
    """Whether a version is younger than a time, as far as its log entry is still there."""
    try:
        actions = map(json.loads, read_text(f"{path}/_delta_log/{version:020}.json").splitlines())
        times = [action["commitInfo"]["timestamp"] for action in actions if "commitInfo" in action]
    except FileNotFoundError:
        return False
    return bool(times) and times[0] / 1000 > at.timestamp()


def _commit(entry: dict[str, Any]) -> Commit:
    note = note_of(entry)
    return Commit(
        entry["version"],
        _time_of(entry),
        str(entry.get("operation", "")),
        note.get("run_id"),
        note.get("step"),
    )


def _time_of(entry: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(entry["timestamp"] / 1000, UTC)
