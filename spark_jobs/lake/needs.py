"""Which files of a table are still needed, and by whom: a stream that has not come so far yet, or a batch that was begun and not ended.

Found in the commits of the table's log since the version up to which the reader has everything.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True)
class Need:
    """Who needs the versions after `since`; with `is_whole` also the table as it stood then and later, not only what came and changed."""

    who: str
    since: int
    is_whole: bool = True


def first_in_need(path: str, version: int, expired: Collection[str], needs: Collection[Need]) -> Need | None:
    """The first that would lose a file, were these deleted."""
    return next((need for need in needs if expired and need.since < version and _loses(path, version, set(expired), need)), None)


def _loses(path: str, version: int, expired: set[str], need: Need) -> bool:
    """A log that cannot be read, because it is on other storage or a part of it is gone, proves nothing: then nothing may be deleted."""
    if "://" in path:
        return True
    for number in range(need.since + 1, version + 1):
        commit = Path(path, "_delta_log", f"{number:020}.json")
        if not commit.is_file() or not expired.isdisjoint(_needed(commit, is_whole=need.is_whole)):
            return True
    return False


def _needed(commit: Path, *, is_whole: bool) -> Iterator[str]:
    """The files in which the rows of a commit are found; with `is_whole` also those that left the table with it."""
    for line in commit.read_text(encoding="utf-8").splitlines():
        for kind, action in json.loads(line).items():
            if kind == "cdc" or (kind in ("add", "remove") and (_changes(action) or (is_whole and kind == "remove"))):
                yield unquote(action["path"])


def _changes(action: dict[str, Any]) -> bool:
    return bool(action.get("dataChange", True))
