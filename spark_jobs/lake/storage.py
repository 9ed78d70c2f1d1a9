"""Files that are not tables, by their place: a path of this machine, or the URI of an object, as in
s3a://bucket/lake/shop/_weir/lease.

Objects are reached through object_store, as the tables are by delta-rs: the same environment variables
(AWS_...) serve both. Every failure is an OSError, as on a disk.
"""

import errno
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from obstore.store import ObjectStore

BLOCK_BYTES = 1024 * 1024
OUTAGE_SECONDS = 60
"""For so long a request is tried again: a store that is restarted goes unnoticed."""


class StorageFailed(OSError):
    """An object store did not do what it was asked for."""


class ObjectChanged(OSError):
    """The object is not the one that was read or written before."""


@dataclass(frozen=True)
class Object:
    """What a store says of an object. `tag` changes with its content."""

    size: int
    modified_at: datetime
    tag: str


def is_remote(place: str) -> bool:
    return "://" in place


def read_bytes(file: str) -> bytes:
    """FileNotFoundError where there is none."""
    if not is_remote(file):
        return Path(file).read_bytes()
    store, key = locate(file)
    with telling(file):
        content: bytes = _obstore().get(store, key).bytes().to_bytes()
    return content


def write_bytes(file: str, content: bytes) -> None:
    """Whole or not at all."""
    if is_remote(file):
        store, key = locate(file)
        with telling(file):
            _obstore().put(store, key, content)
        return
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(f"{file}.{os.getpid()}")
    scratch.write_bytes(content)
    scratch.replace(file)


def read_text(file: str) -> str:
    return read_bytes(file).decode()


def exists(place: str) -> bool:
    """Whether there is such a file; on this machine's disk also such a folder."""
    if not is_remote(place):
        return os.path.exists(place)
    try:
        describe(place)
    except FileNotFoundError:
        return False
    return True


def describe(file: str) -> Object:
    """FileNotFoundError where there is no such object. Its time is in whole seconds: listings of some stores
    have finer ones.
    """
    store, key = locate(file)
    with telling(file):
        found = _obstore().head(store, key)
    return _object_of(found)


def names_in(folder: str) -> list[str]:
    """The names of the files and folders in a folder; none where there is none."""
    if not is_remote(folder):
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    store, key = locate(folder)
    with telling(folder):
        found = _obstore().list_with_delimiter(store, f"{key}/")
    return sorted(
        path.rpartition("/")[2]
        for path in (*found["common_prefixes"], *(item["path"] for item in found["objects"]))
    )


def objects_below(folder: str) -> dict[str, Object]:
    """All objects below a folder of a store, by their paths from there.

    Hadoop puts an empty object in the place of each folder it makes. Those of folders that hold something are
    left out; the others cannot be told from empty files, nor removed by object_store.
    """
    store, key = locate(folder)
    with telling(folder):
        pages = list(_obstore().list(store, f"{key}/"))
    found = {
        item["path"].removeprefix(f"{key}/"): _object_of(item)
        for page in pages
        for item in page
        if item["path"] != key
    }
    parents = {str(parent) for path in found for parent in PurePosixPath(path).parents}
    return {path: item for path, item in found.items() if path not in parents}


def first_below(folder: str) -> list[str]:
    """Some objects below a folder of a store, the first by name, by their paths from there; none where there
    is none.
    """
    store, key = locate(folder)
    with telling(folder):
        page: Any = next(iter(_obstore().list(store, f"{key}/", chunk_size=50)), [])
    return [item["path"].removeprefix(f"{key}/") for item in page]


def files_below(folder: str) -> set[str]:
    """The paths, from the folder, of all files below it; of a store those with something in them."""
    if is_remote(folder):
        return {path for path, item in objects_below(folder).items() if item.size}
    return {
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder)
        for name in names
    }


def sizes_below(folder: str) -> dict[str, int]:
    """The same with their sizes."""
    if is_remote(folder):
        return {path: item.size for path, item in objects_below(folder).items()}
    return {name: os.path.getsize(os.path.join(folder, name)) for name in files_below(folder)}


def is_folder(place: str) -> bool:
    """Whether there is such a folder; on a store, whether there is anything in it."""
    return bool(files_below(place)) if is_remote(place) else os.path.isdir(place)


def remove(place: str) -> None:
    """A file, or a folder with all that is below it; nothing where there is neither."""
    if is_remote(place):
        store, key = locate(place)
        with telling(place):
            _obstore().delete(store, [key, *(f"{key}/{name}" for name in objects_below(place))])
    elif os.path.isdir(place):
        shutil.rmtree(place, ignore_errors=True)
    else:
        Path(place).unlink(missing_ok=True)


def open_object(file: str) -> io.BufferedReader:
    """An object as a file. What it said when it was opened: OSError for one that has changed since."""
    return io.BufferedReader(StoredFile(file), BLOCK_BYTES)


class StoredFile(io.RawIOBase):
    def __init__(self, place: str) -> None:
        self.place, self._position, self._opened = place, 0, describe(place)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._opened.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self._opened.size)
        if self._position >= end:
            return 0
        store, key = locate(self.place)
        with telling(self.place):
            options: Any = {
                "range": (self._position, end),
                **({"if_match": self._opened.tag} if self._opened.tag else {}),
            }
            found = _obstore().get(store, key, options=options).bytes()
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)


def locate(place: str, patience: float = OUTAGE_SECONDS) -> tuple["ObjectStore", str]:
    """The store of an object, and its key there. `patience` is for how many seconds a
    request is tried again.
    """
    scheme, _, rest = place.partition("://")
    bucket, _, key = rest.partition("/")
    return _open_store(f"{scheme}://{bucket}", patience), key


@lru_cache
def _open_store(bucket: str, patience: float) -> "ObjectStore":
    from obstore.store import from_url

    backoff: Any = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2}
    return from_url(
        bucket,
        retry_config={"retry_timeout": timedelta(seconds=patience), "max_retries": 100, "backoff": backoff},
    )


@contextmanager
def telling(place: str) -> Iterator[None]:
    """What a store says, in one line."""
    from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such object", place) from None
    except BaseError as error:
        if isinstance(error, PreconditionError | AlreadyExistsError):
            raise ObjectChanged(f"{place} is another object by now") from error
        raise StorageFailed(f"{place}: {str(error).splitlines()[0][:300]}") from error


def _object_of(found: Any) -> Object:
    return Object(found["size"], found["last_modified"].replace(microsecond=0), found["e_tag"] or "")


def _obstore() -> Any:
    import obstore  # takes a tenth of a second: not for a lake on a disk

    return obstore
