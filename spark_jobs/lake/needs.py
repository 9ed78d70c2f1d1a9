"""Which files of a table are still needed, and by whom: a stream that has not come so far yet, or a batch that was begun and not ended.

Found in the commits of the table's log since the version up to which the reader has everything.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from spark_jobs.lake.storage import read_text


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
    """The files in which the rows of a commit are found; with `is_whole` also those that left the table with it."""
    for line in commit.splitlines():
        for kind, action in json.loads(line).items():
            if kind == "cdc" or (kind in ("add", "remove") and (_changes(action) or (is_whole and kind == "remove"))):
                yield unquote(action["path"])


def _changes(action: dict[str, Any]) -> bool:
    return bool(action.get("dataChange", True))
