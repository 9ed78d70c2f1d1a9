"""Where tables, files, pages and logs are: rights, free space, and whether the clock there is that of here.

Rights are tried, by a file of a few bytes that is removed at once: what a mount or a store allows, its mode
bits do not say.
"""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.filesize import decimal

from spark_jobs.config.loading import Project
from spark_jobs.config.text import count
from spark_jobs.doctor.finding import BAD, WARNING, Finding, Fix, ok
from spark_jobs.lake import storage

STORAGE = "storage"
PROBE = ".weir-doctor-"
BAD_FREE, FEW_FREE = 1_000_000_000, 10_000_000_000
SKEW_SECONDS = 5.0
"""More than a file system or a store needs to answer, and less than what makes a lease doubtful."""


def look_at_places(project: Project) -> Iterator[Finding]:
    yield from _landing(project.landing)
    for about, place in places_written(project):
        yield from _written(about, place)
    yield from _free("lake", project.lake)
    yield from _free("temporary files", tempfile.gettempdir())


def places_written(project: Project) -> list[tuple[str, str]]:
    return [
        ("lake", project.lake),
        ("reports", str(project.reports)),
        ("logs", str(project.root / "logs")),
    ]


def _landing(place: str) -> Iterator[Finding]:
    if storage.is_remote(place):
        number = len(storage.names_in(place))
        yield ok(STORAGE, "landing", f"{place} answers, with {number:,} entries")
    elif not os.path.isdir(place):
        fix = Fix(f"made {place}", partial(_make_folder, place))
        yield Finding(
            STORAGE, "landing", WARNING, f"{place} is not there", f"make it: `mkdir -p {place}`", fix
        )
    elif not os.access(place, os.R_OK | os.X_OK):
        message = f"{place} cannot be read by this user"
        yield Finding(
            STORAGE, "landing", BAD, message, f"give it the right: `chmod u+rx {place}`, or its owner"
        )
    else:
        yield ok(STORAGE, "landing", f"{place} can be read")


def _written(about: str, place: str) -> Iterator[Finding]:
    """Whether a file can be written, and what time the other side gives it."""
    try:
        before = time.time()
        written_at = _probe(place)
        after = time.time()
    except OSError as refused:
        why = refused.strerror or str(refused)
        hint = (
            "see that the store answers, and its address and keys in the environment"
            if storage.is_remote(place)
            else f"see who owns it and its mount: `ls -ld {place}`; free space: `df -h {place}`"
        )
        yield Finding(STORAGE, about, BAD, f"nothing can be written to {place}: {why}", hint)
        return
    yield ok(STORAGE, about, f"{place} can be written to")
    skew = max(before - written_at, written_at - after, 0.0)
    if skew > SKEW_SECONDS:
        message = f"the clock of {place} is {skew:,.0f} seconds from the one of this machine"
        remedy = (
            "set both by a time server: `timedatectl set-ntp true`; times of arrival and leases go by them"
        )
        yield Finding(STORAGE, "clock", BAD, message, remedy)
    elif about == "lake":
        yield ok(STORAGE, "clock", f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, here and in the lake")


def _probe(place: str) -> float:
    """Write and remove a file there, or in the nearest folder above that is there; gives its time."""
    name = f"{PROBE}{secrets.token_hex(4)}"
    if storage.is_remote(place):
        file = f"{place}/{name}"
        storage.write_bytes(file, b"weir doctor")
        at = storage.describe(file).modified_at.timestamp()
        storage.remove(file)
        return at
    folder = next(path for path in (Path(place), *Path(place).parents) if path.exists())
    path = folder / name
    try:
        path.write_bytes(b"weir doctor")
        return path.stat().st_mtime
    finally:
        path.unlink(missing_ok=True)


def _free(about: str, place: str) -> Iterator[Finding]:
    if storage.is_remote(place):
        return
    folder = next(path for path in (Path(place), *Path(place).parents) if path.exists())
    free = shutil.disk_usage(folder).free
    message = f"{decimal(free)} free for {about} ({place})"
    remedy = "`weir maintain` deletes old files of tables, logs and reports; or make the disk larger"
    if free < BAD_FREE:
        yield Finding(STORAGE, "free space", BAD, message, remedy)
    elif free < FEW_FREE:
        yield Finding(STORAGE, "free space", WARNING, message, remedy)
    else:
        yield ok(STORAGE, "free space", message)


def look_at_orphans(project: Project) -> Iterator[Finding]:
    """Folders in the lake that belong to no pipeline, and what a `weir doctor` that was killed has left."""
    names = storage.names_in(project.lake)
    probes = [f"{project.lake}/{name}" for name in names if name.startswith(PROBE)]
    if probes:
        fix = Fix("removed them", partial(_remove_all, probes))
        message = f"{count(len(probes), 'file')} of a killed `weir doctor` in {project.lake}"
        yield Finding(STORAGE, "orphans", WARNING, message, f"`rm {project.lake}/{PROBE}*`", fix)
    strange = [name for name in names if name not in project.pipelines and not name.startswith(PROBE)]
    if strange:
        message = (
            f"no pipeline is called {', '.join(map(repr, strange[:5]))}, and {project.lake} has such folders"
        )
        yield Finding(
            STORAGE,
            "orphans",
            WARNING,
            message,
            "bring its pipeline file back, or, if nobody reads it any more, remove it by hand",
        )
    elif not probes:
        yield ok(STORAGE, "orphans", "every folder of the lake belongs to a pipeline")


def _make_folder(place: str) -> None:
    Path(place).mkdir(parents=True, exist_ok=True)


def _remove_all(files: list[str]) -> None:
    for file in files:
        storage.remove(file)
