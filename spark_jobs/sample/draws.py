"""Values drawn from (seed, what, id) alone: the same on every machine, in any order and any number of
processes.

No generator with state: an order that is corrected months later is drawn again from its id, and comes out as
it was.
"""

from datetime import UTC, datetime
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

BASE_MS = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1000
SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_STEP = 0x9E3779B97F4A7C15
_STRIDE = 982_451_653  # a prime above every size, so that a multiple of it walks through all ids of a pool
_WORD = 2**64 - 1


def below(bound: int, seed: int, what: str, ids: Ids) -> Ids:
    """For each id an even draw from 0 to bound - 1 (the finalizer of splitmix64)."""
    start = np.uint64((seed * _STEP + crc32(what.encode()) * 0xD1342543DE82EF95) & _WORD)
    word = (ids.astype(np.uint64) + start) * np.uint64(_STEP)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((word ^ (word >> np.uint64(31))) % np.uint64(bound)).astype(np.int64)


def one_below(bound: int, seed: int, what: str, number: int) -> int:
    return int(below(bound, seed, what, np.array([number], dtype=np.int64))[0])


def scatter(ordinals: Ids, pool: int, offset: int) -> Ids:
    """Different places 0 to pool - 1 for different ordinals below pool: a walk, not a draw, so none comes
    twice.
    """
    return (ordinals % pool * _STRIDE + offset) % pool


def time_texts(times_ms: Ids) -> list[str]:
    """2026-03-01T00:00:00.000Z"""
    return [
        text + "Z" for text in np.datetime_as_string(times_ms.astype("datetime64[ms]"), unit="ms").tolist()
    ]


def money_texts(cents: Ids) -> list[str]:
    return [f"{amount // 100}.{amount % 100:02d}" for amount in cents.tolist()]
