"""Whether something has landed since the last look, by the times of the folders: asked ten times a second,
where a look takes longer.

It only makes the next look come sooner. A file that grows in its place changes no folder, and waits for that
look, as all files do on an object store or below very many folders.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.storage import is_remote

MOST_FOLDERS = 200
QUIET_SECONDS = 0.1
"""A file that was written to a moment ago may not be whole yet, unless it was renamed into its place, which
cannot be told.
"""


class Stirring:
    """The folders of a pipeline's sources as they were when a look began."""

    def __init__(self, landing: str, pipeline: Pipeline) -> None:
        sources = [source for source in pipeline.sources.values() if isinstance(source, FileSource)]
        folders = (
            []
            if is_remote(landing)
            else list(_folders_below(f"{landing}/{source.path}" for source in sources))
        )
        self._times = (
            {folder: _changed_at(folder) for folder in folders} if len(folders) <= MOST_FOLDERS else {}
        )

    def has_landed(self) -> bool:
        """Whether a folder has changed since, and nobody is writing to a file in it now."""
        changed = [folder for folder, was in self._times.items() if _changed_at(folder) != was]
        return bool(changed) and all(map(_is_quiet, changed))


def _folders_below(roots: Iterable[str]) -> Iterator[str]:
    for root in dict.fromkeys(roots):
        yield root
        for parent, names, _ in os.walk(root):
            yield from (os.path.join(parent, name) for name in names)


def _changed_at(folder: str) -> int | None:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None


def _is_quiet(folder: str) -> bool:
    try:
        newest = max(
            (entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(Path(folder))), default=0.0
        )
    except OSError:  # a file or the folder is gone again: for the look to find out
        return True
    return time.time() - newest >= QUIET_SECONDS
