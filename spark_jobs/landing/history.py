"""What was decided about the files of a source before, and which of them bronze could not read."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from spark_jobs.lake.delta_table import DeltaTable
from spark_jobs.landing.arrivals import DISCARDED, TAKEN, Row
from spark_jobs.landing.content import Earlier
from spark_jobs.landing.folder import LandedFile

Identity = tuple[str, int, datetime, str | None]
"""Path, size and time of a file as it was judged; with the reason where it was refused without being read."""


@dataclass
class History:
    """Looked into while files are judged; each file that is judged is added."""

    rows: list[Row]
    bronze: str
    _known: dict[Identity, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _taken: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _same: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _discarded: set[tuple[str, str]] = field(default_factory=set)
    _paths: set[str] = field(default_factory=set)
    _sizes: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        rows, self.rows = sorted(self.rows, key=lambda row: (row["chunk"], row["path"])), []
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self._paths.add(row["path"])
        reason = None if row["content_hash"] else row["reason"]
        self._known[row["path"], row["size"], row["modified_at"], reason].append(row)
        if row["verdict"] == DISCARDED and row["content_hash"]:
            self._discarded.add((row["path"], row["content_hash"]))
        if row["verdict"] == TAKEN:
            self._discarded.discard((row["path"], row["content_hash"]))
            self._sizes.add(row["size"])
            self._taken[row["path"]].append(row)
            self._same[row["content_hash"]].append(row)

    def knows(self, file: LandedFile, reason: str | None = None) -> bool:
        """Whether the file was judged as it lies there now; with a reason: whether it was refused for it,
        unread.
        """
        return any(_has_tag(row, file) for why in (None, reason) for row in self._judged(file, why))

    def content_now(self, file: LandedFile) -> str | None:
        """The hash of what the file says, where it was judged as it lies there now."""
        return next(
            (row["content_hash"] for row in reversed(self._judged(file)) if _has_tag(row, file)), None
        )

    def has_path(self, path: str) -> bool:
        """Whether anything was ever decided about this path."""
        return path in self._paths

    def has_size(self, size: int) -> bool:
        """Whether a file of this size was ever taken: only such a one can say the same."""
        return size in self._sizes

    def taken(self, path: str) -> list[Row]:
        """The contents that were taken of this path, the newest last."""
        return self._taken.get(path, [])

    def is_discarded(self, path: str, content_hash: str) -> bool:
        """Whether a person decided not to take this content of this path."""
        return (path, content_hash) in self._discarded

    def earlier(self, path: str) -> Row | None:
        """The content that was last taken of this path and not found unreadable. An empty
        one says nothing.
        """
        rows = [row for row in self.taken(path) if row["size"] and row["file_id"] not in self.unreadable]
        return rows[-1] if rows else None

    def said_by(self, path: str, content_hash: str) -> str | None:
        """The first other path that was taken with this content, if bronze could read it."""
        rows = (
            row
            for row in self._same.get(content_hash, [])
            if row["path"] != path and row["file_id"] not in self.unreadable
        )
        return next((row["path"] for row in rows), None)

    def _judged(self, file: LandedFile, reason: str | None = None) -> list[Row]:
        return self._known.get((file.path, file.size, file.modified_at, reason), [])

    @cached_property
    def unreadable(self) -> frozenset[str]:
        """The ids of the files of which bronze has no record, but the problem. Read only when it matters."""
        problems = file_ids(self.bronze, is_record=False)
        return problems - file_ids(self.bronze, is_record=True, among=problems) if problems else problems


def _has_tag(row: Row, file: LandedFile) -> bool:
    """Earlier versions kept no tag of a file on a disk: one that has not been changed since it arrived is the
    one that was judged.
    """
    if row.get("tag") is None and file.changed_at is not None:
        return bool(file.changed_at <= row["arrived_at"])
    return bool(row.get("tag") == file.tag)


def as_earlier(row: Row | None) -> Earlier | None:
    return Earlier(row["size"], row["content_hash"]) if row else None


def file_ids(bronze: str, is_record: bool, among: Collection[str] | None = None) -> frozenset[str]:
    """The files of which the bronze table has records, or at line 0 a problem."""
    import pyarrow.dataset as ds  # takes a third of a second: only where a file came again

    if not DeltaTable.is_deltatable(bronze):
        return frozenset()
    wanted = ds.field("_line") > 0 if is_record else ds.field("_line") == 0
    if among is not None:
        wanted &= ds.field("_file_id").isin(list(among))
    batches = (
        DeltaTable(bronze).to_pyarrow_dataset().scanner(columns=["_file_id"], filter=wanted).to_batches()
    )
    return frozenset(file_id for batch in batches for file_id in batch.column(0).unique().to_pylist())
