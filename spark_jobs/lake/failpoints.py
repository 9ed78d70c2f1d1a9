"""Named points in the write path at which a test can kill, fail or stall the process: `reach("write.before",
"silver.orders")`.

Armed by WEIR_FAILPOINTS, as in `write.after:silver.orders#2=kill` (the second time) or
`write.after:silver.orders@unpark=kill` (of this step alone), several with commas between them; otherwise
each point costs a look at an empty list. Never set it outside tests.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

VARIABLE = "WEIR_FAILPOINTS"
GO = "WEIR_FAILPOINTS_GO"
"""Names a file: a stalled process goes on once it is there."""
POINTS = (
    "arrivals.before", "arrivals.after",  # the files that landed become rows of the arrivals table
    "read.before",  # a task of an executor reads landed files; its table is the source's path
    "intent.before", "intent.after",  # the versions that a batch reads are written down
    "gate.before", "gate.after",  # the verdict on what the batch is about to publish is written down
    "write.before", "write.after",  # one write of one table, its side tables included
    "marker.before", "marker.after",  # the batch is done; after it the checkpoint commits
    "checkpoint.after",  # the stream has committed its last batch
    "consumed.before", "consumed.after",  # the table says what it has consumed
    "swap.before", "swap.after",  # a rebuilt table takes the place of the old one
    # a row of the ledger without a point of its own: definitions, rules, findings, decisions, drift, runs
    "ledger.before", "ledger.after",
    "upkeep.before", "upkeep.after",  # small files of a table are put together, or old ones deleted
)  # fmt: skip

Action = Literal["kill", "raise", "stall"]
Decide = Callable[[str, str, str], Action | None]
"""What to do at a point, of a table, in a step of it."""


class Failpoint(Exception):
    """A test asked for a failure here."""


@dataclass
class _Armed:
    point: str
    table: str | None
    hit: int
    action: Action
    hits: int = 0


@dataclass
class _State:
    armed: list[_Armed] = field(default_factory=list)
    decide: Decide | None = None
    is_dead: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


def reach(point: str, table: str, step: str = "") -> None:
    """Pass, unless a test has armed this point."""
    if not _state.armed and _state.decide is None:
        return
    action = _next_action(point, table, step)
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "raise":
        raise Failpoint(f"{point} of {table}")
    elif action == "stall":
        print(f"stalled at {point} of {table}", file=sys.stderr, flush=True)
        while not Path(os.environ[GO]).exists():
            time.sleep(0.05)


def _next_action(point: str, table: str, step: str) -> Action | None:
    """After a `raise` the process counts as dead: every later point fails as well, so that no other thread
    writes on.
    """
    if _state.is_dead:
        return "raise"
    action = _state.decide(point, table, step) if _state.decide else _armed_action(point, table, step)
    if action == "raise":
        _state.is_dead = True
    return action


def _armed_action(point: str, table: str, step: str) -> Action | None:
    with _state.lock:
        for armed in _state.armed:
            if armed.point == point and armed.table in (None, table, f"{table}@{step}"):
                armed.hits += 1
                if armed.hits == armed.hit:
                    return armed.action
    return None


@contextmanager
def arm(specification: str) -> Iterator[None]:
    """Arm points of this process for the block."""
    _state.armed, _state.is_dead = _parse(specification), False
    try:
        yield
    finally:
        _state.armed, _state.is_dead = [], False


@contextmanager
def deciding(decide: Decide) -> Iterator[None]:
    """Ask a test at every point that this process reaches in the block."""
    _state.decide, _state.is_dead = decide, False
    try:
        yield
    finally:
        _state.decide, _state.is_dead = None, False


def _parse(specification: str) -> list[_Armed]:
    found = []
    for part in filter(None, specification.split(",")):
        place, _, action = part.partition("=")
        place, _, hit = place.partition("#")
        point, _, table = place.partition(":")
        if point not in POINTS or action not in ("kill", "raise", "stall") or not (hit or "1").isdigit():
            raise ValueError(
                f"{VARIABLE}: {part!r} is not point[:table[@step]][#hit]=action; points: {', '.join(POINTS)};"
                " actions: kill, raise, stall"
            )
        found.append(_Armed(point, table or None, int(hit or 1), action))  # type: ignore[arg-type]
    return found


def _from_environment(environ: Mapping[str, str] = os.environ) -> list[_Armed]:
    return _parse(environ.get(VARIABLE, ""))


_state = _State(_from_environment())
