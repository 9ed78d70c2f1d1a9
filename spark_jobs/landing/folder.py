"""The files of one landing folder. What enters: a folder. What leaves: a Listing, in which everything that
lies there has its place.

Nothing is passed over in silence, and nothing but a regular file is ever opened: a pipe would keep the run
waiting for ever.
"""

import os
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

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
