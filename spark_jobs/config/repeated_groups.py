"""Whether Java's engine comes to an end with the groups that a pattern repeats a counted number of times.

It calls itself for every turn of a group, and the stack has room for some hundred turns: those of groups
within groups multiply. And where a turn can go in several ways that the next character does not decide, it
tries all of them for all turns: `(?:aa|a){0,200}` takes for ever on a value of sixty characters. A group that
keeps what it has taken (`(?:…){0,200}+`) is gone through once.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from re import _constants as op  # type: ignore[attr-defined]  # as in plain_patterns.py
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from spark_jobs.config.characters import NotPlain, one_character
from spark_jobs.config.going_back import ways_through
from spark_jobs.config.plain_patterns import ways_of_turn

MOST_TURNS = 256
"""A thread's stack has room for about a thousand calls; a turn may take several."""
MOST_WAYS = 10_000_000
ENDLESS = 100
"""The ways of a repetition without an end: as if the value were so long. Three of them may be multiplied."""
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
KEEPS = (op.POSSESSIVE_REPEAT, op.ATOMIC_GROUP)


def has_too_many_turns(pattern: str) -> bool:
    """Of a pattern as Python reads it; false for one that it cannot read."""
    return sum(_turns(_parsed(pattern), 1)) > MOST_TURNS


def has_too_many_ways(pattern: str) -> bool:
    """The same."""
    return any(_is_ambiguous(*group) for group in _repeated(_parsed(pattern)))


def goes_back_too_often(pattern: str) -> bool:
    """The same, of repetitions one behind the other: three that give back may be multiplied."""
    return ways_through(_parsed(pattern)) > MOST_WAYS


def _parsed(pattern: str) -> Sequence[Any]:
    try:
        with warnings.catch_warnings(action="ignore"):
            return list(parser.parse(pattern))
    except (re.error, OverflowError, RecursionError):
        return ()


def _turns(nodes: Iterable[Any], outer: int) -> Iterable[int]:
    for kind, value in nodes:
        if kind in REPEATS and one_character(value[2]) is None:
            # one without an end is refused as such
            turns = outer * (1 if value[1] == op.MAXREPEAT else int(value[1]))
            yield turns if value[1] > 1 else 0
            yield from _turns(value[2], turns)
        else:
            for inner in _inside(kind, value):
                yield from _turns(inner, 1 if kind in KEEPS else outer)


def _repeated(nodes: Iterable[Any]) -> Iterable[tuple[Sequence[Any], int]]:
    """The groups that are repeated, outer ones first, with the number of their turns."""
    for kind, value in nodes:
        if kind in REPEATS and one_character(value[2]) is None and 1 < value[1] != op.MAXREPEAT:
            yield value[2], int(value[1])
        for inner in _inside(kind, value):
            yield from _repeated(inner)


def _inside(kind: Any, value: Any) -> Iterable[Sequence[Any]]:
    if kind in (*REPEATS, op.POSSESSIVE_REPEAT):
        return (value[2],)
    if kind is op.SUBPATTERN:
        return (value[3],)
    if kind is op.ATOMIC_GROUP:
        return (value,)
    if kind is op.BRANCH:
        return tuple(value[1])
    return (value[1],) if kind in (op.ASSERT, op.ASSERT_NOT) else ()


def _is_ambiguous(group: Sequence[Any], turns: int) -> bool:
    try:
        ways = ways_of_turn(group, ENDLESS)
    except NotPlain:
        ways = _most_ways(group)
    return bool(ways**turns > MOST_WAYS)


def _most_ways(nodes: Iterable[Any]) -> int:
    """The ways through parts of which nobody has looked whether the next character decides."""
    ways = 1
    for kind, value in nodes:
        inside = [_most_ways(inner) for inner in _inside(kind, value)]
        if kind in KEEPS:
            continue
        if kind in REPEATS:
            least, most = value[0], value[1]
            ways *= (
                ENDLESS
                if most == op.MAXREPEAT
                else (most - least + 1) * min(inside[0], MOST_WAYS) ** min(int(most), ENDLESS)
            )
        elif inside:
            ways *= sum(inside)
        ways = min(ways, MOST_WAYS + 1)
    return ways
