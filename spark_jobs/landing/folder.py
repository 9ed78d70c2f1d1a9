"""The files of one landing folder. What enters: a folder. What leaves: a Listing, in which everything that
lies there has its place.

Nothing is passed over in silence, and nothing but a regular file is ever opened: a pipe would keep the run
waiting for ever.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.storage import Object, is_remote, objects_below

LINK = "it is a symbolic link; land the file itself"
SPECIAL = "it is a pipe, a socket or a device; land a regular file"
NOT_UTF8 = "its name is not UTF-8 text; land it under another name"
CHANGE_TIME = "ctime "
VANISHED = "it vanished while the folder was being listed"


@dataclass(frozen=True)
class LandedFile:
    """A file as it lies there now, by its path below the landing root."""

    path: str
    size: int
    modified_at: datetime
    tag: str | None = None
    """What tells two contents of one size and time apart: a store's mark of the content, or on a disk the
    time of the last change of any kind. `cp -p` and `rsync -t` set a file's modification time; that time
    nobody can set.
    """

    @property
    def changed_at(self) -> datetime | None:
        """The time of the last change of any kind; None for an object."""
        return (
            file_time(int(self.tag.removeprefix(CHANGE_TIME)))
            if self.tag and self.tag.startswith(CHANGE_TIME)
            else None
        )


@dataclass
class Listing:
    """Files to look into, what can never be taken as it lies there, and what cannot be looked at now; each in
    the order of paths.
    """

    files: list[LandedFile] = field(default_factory=list)
    refused: list[tuple[LandedFile, str]] = field(default_factory=list)
    waiting: list[tuple[str, str]] = field(default_factory=list)


def list_folder(landing: str, folder: str, pattern: str) -> Listing:
    """Everything below the folder that belongs to the source: by its name, or because it hides what its own
    name cannot tell.
    """
    if is_remote(landing):
        return _list_objects(landing, folder, pattern)
    listing, folders = Listing(), [folder]
    while folders:
        parent = folders.pop()
        try:
            entries = scan(Path(landing, parent))
        except FileNotFoundError:
            if parent != folder:
                listing.waiting.append((readable(parent), VANISHED))
        except OSError as error:
            listing.waiting.append((readable(parent), f"the folder cannot be listed: {say(error)}"))
        else:
            folders += [
                path for entry in entries if _place(entry, path := f"{parent}/{entry.name}", pattern, listing)
            ]
    listing.files.sort(key=lambda file: file.path)
    listing.refused.sort(key=lambda refused: refused[0].path)
    listing.waiting.sort()
    return listing


def _list_objects(landing: str, folder: str, pattern: str) -> Listing:
    """An object is a whole file, or not there yet. A key that ends in a slash stands for a folder."""
    found = objects_below(f"{landing}/{folder}")
    names = sorted(
        name for name in found if not name.endswith("/") and fnmatchcase(name.rpartition("/")[2], pattern)
    )
    return Listing([landed_object(f"{folder}/{name}", found[name]) for name in names])


def landed_file(path: str, found: os.stat_result) -> LandedFile:
    return LandedFile(path, found.st_size, file_time(found.st_mtime_ns), f"{CHANGE_TIME}{found.st_ctime_ns}")


def landed_object(path: str, found: Object) -> LandedFile:
    return LandedFile(path, found.size, found.modified_at, found.tag)


def scan(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def file_time(nanoseconds: int) -> datetime:
    """Delta keeps microseconds, and a file's time must compare equal after a round trip."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def readable(path: str) -> str:
    """The path as text: bytes that are not UTF-8 are written out as \\xNN."""
    return os.fsencode(path).decode(errors="backslashreplace")


def say(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _place(entry: os.DirEntry[str], path: str, pattern: str, listing: Listing) -> bool:
    """Put the entry where it belongs; true for a folder to go into."""
    try:
        if not entry.is_symlink() and entry.is_dir(follow_symlinks=False):
            return True
        if fnmatchcase(entry.name, pattern) or _hides_files(entry):
            found = entry.stat(follow_symlinks=False)
            file = landed_file(readable(path), found)
            reason = _against(found.st_mode, path)
            if reason:
                listing.refused.append((file, reason))
            else:
                listing.files.append(file)
    except FileNotFoundError:
        listing.waiting.append((readable(path), VANISHED))
    except OSError as error:
        listing.waiting.append((readable(path), f"it cannot be looked at: {say(error)}"))
    return False


def _hides_files(entry: os.DirEntry[str]) -> bool:
    """A link to a folder, or to nothing, may stand for files whose names would match."""
    return entry.is_symlink() and not os.path.isfile(entry.path)


def _against(mode: int, path: str) -> str | None:
    if stat.S_ISLNK(mode):
        return LINK
    if not stat.S_ISREG(mode):
        return SPECIAL
    return None if readable(path).encode() == os.fsencode(path) else NOT_UTF8


# Whether something has landed since the last look, by the times of the folders: asked ten times a second,
# where a look takes longer.
#
# It only makes the next look come sooner. A file that grows in its place changes no folder, and waits for
# that look, as all files do on an object store or below very many folders.


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
