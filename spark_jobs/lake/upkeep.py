"""Upkeep of a Delta table without a JVM: small files are put together, files that no version needs any more
are deleted.

Both leave the rows and the transaction ids of the table as they are; both move its version.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import PostCommitHookProperties

from spark_jobs.lake.delta_commit import forget_checksum, write_checksum
from spark_jobs.lake.delta_table import DeltaTable
from spark_jobs.lake.storage import files_below, is_remote, read_text

# Which files of a table are still needed, and by whom: a stream that has not come so far yet, or a batch that
# was begun and not ended. Found in the commits of the table's log since the version up to which the reader
# has everything.


@dataclass(frozen=True)
class Need:
    """Who needs the versions after `since`; with `is_whole` also the table as it stood then and later, not
    only what came and changed.
    """

    who: str
    since: int
    is_whole: bool = True


def first_in_need(path: str, version: int, expired: Collection[str], needs: Collection[Need]) -> Need | None:
    """The first that would lose a file, were these deleted."""
    return next(
        (
            need
            for need in needs
            if expired and need.since < version and _loses(path, version, set(expired), need)
        ),
        None,
    )


def _loses(path: str, version: int, expired: set[str], need: Need) -> bool:
    """A log of which a part is gone proves nothing: then nothing may be deleted."""
    for number in range(need.since + 1, version + 1):
        try:
            commit = read_text(f"{path}/_delta_log/{number:020}.json")
        except FileNotFoundError:
            return True
        if not expired.isdisjoint(_needed(commit, is_whole=need.is_whole)):
            return True
    return False


def _needed(commit: str, *, is_whole: bool) -> Iterator[str]:
    """The files in which the rows of a commit are found; with `is_whole` also those that left the table with
    it.
    """
    for line in commit.splitlines():
        for kind, action in json.loads(line).items():
            if kind == "cdc" or (
                kind in ("add", "remove") and (_changes(action) or (is_whole and kind == "remove"))
            ):
                yield unquote(action["path"])


def _changes(action: dict[str, Any]) -> bool:
    return bool(action.get("dataChange", True))


SMALL_BYTES, TARGET_BYTES = 1024 * 1024, 16 * 1024 * 1024
"""As in the compaction of a run's batches (session/settings.py): files of a load, each a span of event time,
are about so big.
"""
FEW_BYTES = 4 * 1024 * 1024
"""A file of so many bytes is left alone after a write of few rows, and none becomes larger."""
AT_LEAST = 2
"""So many small files are worth a rewrite: one cannot become fewer."""
RETENTION = "delta.deletedFileRetentionDuration"
SHORTEST = timedelta(days=7)
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


class RetentionTooShort(Exception):
    """A VACUUM by this property would delete files that readers and batches still need."""

    def __init__(self, table: str, value: str) -> None:
        self.table, self.value = table, value
        super().__init__(
            f"{table}: its property {RETENTION} is {value!r}, and readers need {SHORTEST.days} days at least;"
            f" remove it, or set it to 'interval {SHORTEST.days} days' or more"
        )


@dataclass(frozen=True)
class Files:
    """The data files of a table's newest version."""

    count: int
    bytes: int
    small: int

    @property
    def mean_bytes(self) -> int:
        return self.bytes // self.count if self.count else 0

    def as_dict(self) -> dict[str, int]:
        return {
            "files": self.count,
            "bytes": self.bytes,
            "mean_bytes": self.mean_bytes,
            "small_files": self.small,
        }


def measure_files(path: str) -> Files:
    sizes = DeltaTable(path).get_add_actions(flatten=True).column("size_bytes").to_pylist()
    return Files(len(sizes), sum(sizes), sum(size < SMALL_BYTES for size in sizes))


def compact_files(path: str) -> None:
    """Put neighbouring small files together. Commits nothing where none fit."""
    _compact(path, TARGET_BYTES)


def compact_small_files(path: str) -> None:
    """The same after a write of few rows, which waits for it: with several small files, and without a look at
    those of a load.
    """
    if measure_files(path).small >= AT_LEAST:
        _compact(path, FEW_BYTES)
        checkpoint_log(path)


def _compact(path: str, target_bytes: int) -> None:
    """Streams read the log: it is not shortened."""
    kept = PostCommitHookProperties(cleanup_expired_logs=False)
    DeltaTable(path).optimize.compact(target_size=target_bytes, post_commithook_properties=kept)
    forget_checksum(path)
    write_checksum(path)


def checkpoint_log(path: str) -> None:
    """Who opens the table then reads the checkpoint, and not every commit since the last. delta-rs alone
    makes one in 100 commits.
    """
    DeltaTable(path).create_checkpoint()
    forget_checksum(path)


def shorten_log(path: str) -> None:
    """What the log's own retention (30 days) no longer keeps, and a checkpoint holds, goes. Not for tables
    that streams read.
    """
    DeltaTable(path).cleanup_metadata()


def expired_files(path: str, table: str) -> list[str]:
    """What a VACUUM would delete: files that left the table, and changes that were noted, longer ago than its
    property says.

    delta-rs also lists files that the log still tells of and an earlier VACUUM has deleted.
    """
    check_retention(path, table)
    listed, there = DeltaTable(path).vacuum(dry_run=True, full=True), files_below(path)
    return [name for name in listed if name in there]


def delete_expired(path: str, table: str) -> None:
    """VACUUM, by the table's property. Spark's checksums go with their files."""
    check_retention(path, table)
    deleted = DeltaTable(path).vacuum(dry_run=False, full=True)
    if not is_remote(path):
        for name in deleted:
            file = Path(path, name)
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    forget_checksum(path)
    write_checksum(path)


def check_retention(path: str, table: str) -> None:
    """RetentionTooShort unless the property is missing, or says as much as Delta's own default."""
    value = DeltaTable(path).metadata().configuration.get(RETENTION)
    if value is not None and _interval(value) < SHORTEST:
        raise RetentionTooShort(table, value)


def _interval(text: str) -> timedelta:
    """As Delta writes it: interval 1 week, interval 2 days 12 hours. What cannot be read
    counts as nothing.
    """
    parts = re.fullmatch(r"(?:interval )?((?:\d{1,6} [a-z]+ ?)+)", text.strip().lower())
    pairs = re.findall(r"(\d+) ([a-z]+?)s?\b", parts[1]) if parts else []
    if any(unit not in UNITS for _, unit in pairs):
        return timedelta()
    return timedelta(seconds=sum(int(number) * UNITS[unit] for number, unit in pairs))
