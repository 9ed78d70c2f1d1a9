"""One writer per pipeline. On a disk: a lock of the operating system, which a killed process cannot leave
behind; the JVM inherits its descriptor, so that a JVM that outlives its parent keeps the lease until it ends.
On an object store: see object_lease.py.

An always-on stream gives the lease back between its increments, so whoever finds it held by one waits for the
next gap.
"""

import fcntl
import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from spark_jobs.lake.storage import is_remote

STREAM = "weir stream"
"""What the holder is called that gives the lease back after each increment."""
PATIENCE_SECONDS, LOOK_SECONDS = 300.0, 0.05
"""How long others wait for such a gap, and how often they look."""
GLANCE_SECONDS = 0.2
"""Whoever asks who holds a lease (holder_of) has its lock for an instant, which is not to be taken for a
holder.
"""


class LeaseHeld(Exception):
    """Another process writes to this pipeline."""

    def __init__(self, pipeline: str, holder: dict[str, str]) -> None:
        self.pipeline, self.holder = pipeline, holder
        who = (
            f"process {holder['pid']} on {holder['host']} since {holder['since']} ({holder['what']})"
            if holder
            else "another process"
        )
        todo = (
            "its JVM is ending, try again in a moment"
            if has_ended(holder)
            else "wait for it to end, or stop that process, then run again"
        )
        super().__init__(f"pipeline {pipeline} is held by {who}; {todo}")


class LeaseLost(Exception):
    """Another process may write by now, so this one must not."""

    def __init__(
        self,
        pipeline: str,
        path: str,
        why: str = "was removed while this run held it; leave that file alone, and run again",
    ) -> None:
        self.pipeline, self.path = pipeline, path
        super().__init__(f"pipeline {pipeline}: the lease {path} {why}")


class LeaseNotTaken(Exception):
    """Something was about to be written by a part of Weir that only reads."""

    def __init__(self) -> None:
        super().__init__(
            "nothing may be written here without the pipeline's lease: this is a defect of Weir, please"
            " report it"
        )


def refuse_writes() -> None:
    """The guard of whoever has no lease: raises LeaseNotTaken."""
    raise LeaseNotTaken


class Lease(ABC):
    """What keeps a second writer out of a pipeline, and what it is taken for."""

    pipeline: str
    what: str
    descriptor: int | None
    """Of what the JVM inherits, and holds the lease by."""

    @abstractmethod
    def take(self, patience: float = PATIENCE_SECONDS) -> bool:
        """Hold it, or raise LeaseHeld: soon, or after this many seconds where a stream has it. True: another
        process held it last.
        """

    @abstractmethod
    def give_back(self) -> None:
        """Let others have it until it is taken again, for the JVM that inherited it as well."""

    @abstractmethod
    def check(self) -> None:
        """LeaseLost where it is no longer held: asked before every write."""


@dataclass
class FileLease(Lease):
    pipeline: str
    path: str
    descriptor: int
    what: str

    def take(self, patience: float = PATIENCE_SECONDS) -> bool:
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = _read_holder(self.descriptor)
                gives_it_back = holder.get("what") == STREAM and not has_ended(holder)
                if time.monotonic() - started >= max(GLANCE_SECONDS, patience if gives_it_back else 0.0):
                    raise LeaseHeld(self.pipeline, holder) from None
                time.sleep(LOOK_SECONDS)
        last = _read_holder(self.descriptor)
        _write_holder(self.descriptor, self.what)
        return not is_this_process(last)

    def give_back(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def check(self) -> None:
        """The file at the path is still the one that is locked."""
        held = os.fstat(self.descriptor)
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            raise LeaseLost(self.pipeline, self.path) from None
        if (held.st_dev, held.st_ino) != (found.st_dev, found.st_ino):
            raise LeaseLost(self.pipeline, self.path)


@contextmanager
def open_lease(path: str, pipeline: str, what: str) -> Iterator[Lease]:
    """A lease that is still to be taken."""
    if is_remote(path):
        from spark_jobs.lake.object_lease import ObjectLease

        remote = ObjectLease(pipeline, path, what)
        try:
            yield remote
        finally:
            remote.give_back()
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield FileLease(pipeline, path, descriptor, what)
    finally:
        os.close(descriptor)


@contextmanager
def hold_lease(path: str, pipeline: str, what: str) -> Iterator[Lease]:
    """Hold the lease for the block, or raise LeaseHeld."""
    with open_lease(path, pipeline, what) as lease:
        lease.take()
        yield lease


def holder_of(path: str) -> dict[str, str] | None:
    """Who holds a lease now, taking nothing; None where nobody does."""
    if is_remote(path):
        from spark_jobs.lake.object_lease import object_holder

        return object_holder(path)
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def is_this_process(holder: Mapping[str, str]) -> bool:
    return (holder.get("host"), holder.get("pid")) == (socket.gethostname(), str(os.getpid()))


def has_ended(holder: dict[str, str]) -> bool:
    """Whether the process is gone, on this host: then what holds the lock is a JVM that it started, which
    ends by itself.
    """
    if holder.get("host") != socket.gethostname() or not holder["pid"].isdigit():
        return False
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _write_holder(descriptor: int, what: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(describe_holder(what)).encode(), 0)


def _read_holder(descriptor: int) -> dict[str, str]:
    return read_holder(os.pread(descriptor, 4096, 0))


def describe_holder(what: str) -> dict[str, str]:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return {"host": socket.gethostname(), "pid": str(os.getpid()), "since": since, "what": what}


def read_holder(content: bytes) -> dict[str, str]:
    try:
        holder = json.loads(content)
    except json.JSONDecodeError:  # the holder is just writing it
        return {}
    return {name: str(holder.get(name, "?")) for name in ("host", "pid", "since", "what")}
