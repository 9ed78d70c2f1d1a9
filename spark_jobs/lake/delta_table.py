"""Tables by delta-rs, without a JVM. On an object store its requests have more patience than by default, when a second decides."""

import os
import re
from typing import Any, NamedTuple

import deltalake

from spark_jobs.lake.storage import OUTAGE_SECONDS, first_below, is_remote

PATIENCE = {
    "max_retries": "100",
    "retry_timeout": f"{OUTAGE_SECONDS}s",
    "backoff_config.init_backoff": "100ms",
    "backoff_config.max_backoff": "2s",
}


COMMIT = re.compile(r"([0-9]{20})\.(?:json|checkpoint\.parquet)")


class Newest(NamedTuple):
    """The newest entry of a table's log. A table in the place of another one has another, whatever its version."""

    version: int
    file: int
    changed_at: int
    size: int


class DeltaTable(deltalake.DeltaTable):
    """A table at a place of the lake."""

    def __init__(self, table_uri: Any, version: Any = None, storage_options: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(table_uri, version, storage_options or options_of(str(table_uri)), **more)

    @staticmethod
    def is_deltatable(table_uri: Any, storage_options: dict[str, str] | None = None) -> bool:
        """On an object store by a look at its log: delta-rs would stop all threads of this process while it waits for an answer."""
        if is_remote(str(table_uri)):
            return any(name.endswith((".json", ".parquet")) for name in first_below(f"{table_uri}/_delta_log"))
        return deltalake.DeltaTable.is_deltatable(table_uri)


def options_of(place: str) -> dict[str, str] | None:
    """What delta-rs is told of where a table is; its keys it finds in the environment."""
    return dict(PATIENCE) if is_remote(place) else None


def newest_entry(path: str) -> Newest | None:
    """By the names in the log of a table on a file system; None where there is none. To open a table takes a hundred times as long."""
    try:
        names = [name for name in os.listdir(f"{path}/_delta_log") if COMMIT.fullmatch(name)]
        if not names:
            return None
        last = max(names)
        found = os.stat(f"{path}/_delta_log/{last}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Newest(int(last[:20]), found.st_ino, found.st_mtime_ns, found.st_size)
