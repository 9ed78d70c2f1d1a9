"""A lease on an object store: one object, which its holder renews every few seconds, each time on the
condition that it still is what the holder wrote last. Nobody's clock is trusted: whoever wants the lease
takes it once the object has stayed the same for a whole term.

The holder counts its own term from before each renewal, by a clock that goes on while the machine is
suspended, and writes nothing after it. A process that was killed is waited for: its JVM ends within the term.

A renewal whose answer is lost may have been written all the same. Every object bears the id of its holder, so
that the next renewal finds the holder's own, and goes on from there.
"""

import json
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import obstore

from spark_jobs.lake import storage
from spark_jobs.lake.lease import (
    PATIENCE_SECONDS,
    STREAM,
    Lease,
    LeaseHeld,
    LeaseLost,
    describe_holder,
    is_this_process,
    read_holder,
)

TERM_SECONDS, RENEW_SECONDS, LOOK_SECONDS = 30.0, 4.0, 0.5
MARGIN_SECONDS = 5.0
"""So long before the end of its term a holder begins no more writes."""
REQUEST_SECONDS = 5.0
NOBODY = ""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux stops CLOCK_MONOTONIC in suspend: a holder that slept for an hour would take its term for unused, and
write beside another one.
"""


def term_clock() -> float:
    """Seconds, those in which the machine slept among them. Whoever waits for a lease counts the seconds that
    it was awake: sleep proves nothing about the holder.
    """
    return time.clock_gettime(_CLOCK)


@dataclass
class ObjectLease(Lease):
    pipeline: str
    path: str
    what: str
    descriptor: int | None = None
    _id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _tag: str | None = None
    _until: float = 0.0
    _ending: threading.Event = field(default_factory=threading.Event)
    _renewal: threading.Thread | None = None

    def take(self, patience: float = PATIENCE_SECONDS) -> bool:
        started = seen_at = time.monotonic()
        first = seen = self._look()
        while True:
            # written before, and the answer was lost
            is_ours = seen is not None and seen.holder_id == self._id
            if seen is None or seen.is_free or is_ours or time.monotonic() - seen_at >= TERM_SECONDS:
                if self._write(seen.tag if seen else None):
                    break
            elif first is not None and seen.tag != first.tag:  # it was renewed: its holder lives
                waits = patience if seen.holder.get("what") == STREAM else 0.0
                if time.monotonic() - started >= waits:
                    raise LeaseHeld(self.pipeline, seen.holder)
            time.sleep(LOOK_SECONDS)
            now = self._look()
            if now is None or seen is None or now.tag != seen.tag:
                seen, seen_at = now, time.monotonic()
                first = first or now
        self._ending = threading.Event()
        self._renewal = threading.Thread(
            target=self._renew, args=(self._ending,), name=f"lease of {self.pipeline}", daemon=True
        )
        self._renewal.start()
        return seen is None or not is_this_process(seen.holder)

    def give_back(self) -> None:
        if self._renewal is None:
            return
        self._ending.set()
        self._renewal.join()
        self._renewal, self._until = None, 0.0
        with suppress(OSError):  # whoever wants it waits for a term
            self._write(self._tag, is_held=False)

    def check(self) -> None:
        if term_clock() >= self._until - MARGIN_SECONDS:
            seconds = TERM_SECONDS - MARGIN_SECONDS
            why = (
                f"was not renewed for {seconds:.0f} seconds, or another process has it; run again when the"
                " store answers"
            )
            raise LeaseLost(self.pipeline, self.path, why)

    def _renew(self, ending: threading.Event) -> None:
        while not ending.wait(RENEW_SECONDS):
            with suppress(OSError):  # tried again, until the term ends
                if not self._write(self._tag):
                    self._until = 0.0
                    return

    def _write(self, tag: str | None, *, is_held: bool = True) -> bool:
        """Put the object in the place of the one with this tag, or of none; false where that of another
        holder stands there by now.
        """
        while True:
            before = term_clock()
            holder = {
                **describe_holder(self.what if is_held else NOBODY),
                "holder": self._id,
                "write": uuid.uuid4().hex,
            }
            try:
                self._tag = self._put(json.dumps(holder).encode(), tag)
            except storage.ObjectChanged:
                now = self._look()
                if now is None or now.holder_id != self._id:
                    return False
                # an earlier one of our own, whose answer was lost: it is replaced
                if now.write != holder["write"]:
                    tag = now.tag
                    continue
                self._tag = now.tag  # this very one, and the answer to a first try was lost
            self._until = before + TERM_SECONDS if is_held else 0.0
            return True

    def _put(self, content: bytes, tag: str | None) -> str | None:
        store, key = storage.locate(self.path, REQUEST_SECONDS)
        with storage.telling(self.path):
            found: str | None = obstore.put(
                store, key, content, mode={"e_tag": tag} if tag else "create", use_multipart=False
            )["e_tag"]
        return found

    def _look(self) -> "_Seen | None":
        return _look(self.path)


@dataclass(frozen=True)
class _Seen:
    tag: str
    holder: dict[str, str]
    holder_id: str
    write: str
    modified_at: datetime

    @property
    def is_free(self) -> bool:
        return self.holder.get("what") == NOBODY


def object_holder(path: str) -> dict[str, str] | None:
    """Who holds it, as far as a single look can tell: one that was not renewed for a term has no holder any
    more.
    """
    seen = _look(path)
    if seen is None or seen.is_free or (datetime.now(UTC) - seen.modified_at).total_seconds() > TERM_SECONDS:
        return None
    return seen.holder


def _look(path: str) -> _Seen | None:
    store, key = storage.locate(path, REQUEST_SECONDS)
    try:
        with storage.telling(path):
            found = obstore.get(store, key)
            meta, content = found.meta, found.bytes().to_bytes()
    except FileNotFoundError:
        return None
    try:
        said = json.loads(content)
        holder_id, write = str(said.get("holder", "")), str(said.get("write", ""))
    except (json.JSONDecodeError, AttributeError):
        holder_id = write = ""
    return _Seen(meta["e_tag"] or "", read_holder(content), holder_id, write, meta["last_modified"])
