"""In how many ways Java's engine can go through a pattern before it knows that a value does not match.

A repetition whose characters may also begin what follows gives back one after the other. Several of them are
tried in all combinations: `.*a.*a.*a.*b` goes through millions of ways on a value of a hundred characters. A
repetition that ends with what it cannot take, as in `[^,]*,`, is gone through once.
"""

from collections.abc import Sequence
from re import _constants as op  # type: ignore[attr-defined]  # as in plain_patterns.py
from typing import Any, NamedTuple

from spark_jobs.config.characters import (
    EVERYTHING,
    NotPlain,
    Ranges,
    have_common,
    merge_ranges,
    one_character,
)

ENDLESS = 100
"""The ways of a repetition without an end: as if the value were so long."""
TOO_MANY = 10**9
ZERO_WIDTH = (op.AT, op.ASSERT, op.ASSERT_NOT)


class Ways(NamedTuple):
    """`open` are those that the engine may come back to, `tried` all that it may go: an atomic group and a
    look ahead are left for good.
    """

    open: int
    tried: int


def ways_through(nodes: Sequence[Any]) -> int:
    """Of the parts of a pattern as Python's parser gives them."""
    return _ways(nodes, ()).tried


def _ways(nodes: Sequence[Any], behind: Ranges) -> Ways:
    """`behind` are the characters that may follow."""
    backwards = []
    for node in reversed(nodes):
        backwards.append(_ways_of(node, behind))
        allowed, may_be_empty = _begin_of(node)
        behind = merge_ranges([*allowed, *behind]) if may_be_empty else allowed
    coming_back = tried = 1
    for ways in reversed(backwards):
        tried = min(max(tried, coming_back * ways.tried), TOO_MANY)
        coming_back = min(coming_back * ways.open, TOO_MANY)
    return Ways(coming_back, tried)


def _ways_of(node: Any, behind: Ranges) -> Ways:
    kind, value = node
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return _ways_of_repeat(value, behind)
    if kind is op.BRANCH:
        return _ways_of_branch(value[1], behind)
    if kind is op.SUBPATTERN:
        return _ways(value[3], behind)
    if kind is op.POSSESSIVE_REPEAT:
        return Ways(1, 1 if _one(value[2]) is not None else _ways(value[2], ()).tried)
    if kind is op.ATOMIC_GROUP:
        return Ways(1, _ways(value, ()).tried)
    return Ways(1, _ways(value[1], ()).tried if kind in (op.ASSERT, op.ASSERT_NOT) else 1)


def _ways_of_branch(branches: Sequence[Any], behind: Ranges) -> Ways:
    found = [_ways(way, behind) for way in branches]
    begins = [_begin(way, behind) for way in branches]
    is_decided = not any(
        have_common(one, other) for at, one in enumerate(begins) for other in begins[at + 1 :]
    )
    add = max if is_decided else sum
    return Ways(add(ways.open for ways in found), add(ways.tried for ways in found))


def _ways_of_repeat(value: Any, behind: Ranges) -> Ways:
    least, most, inner = value
    one = _one(inner)
    begin = _begin(inner, ()) if one is None else one
    ends = 1
    if have_common(begin, behind):
        ends = ENDLESS if most == op.MAXREPEAT else int(most) - int(least) + 1
    if one is not None:
        return Ways(ends, ends)
    turns = ENDLESS if most == op.MAXREPEAT else int(most)
    turn = _ways(inner, merge_ranges([*begin, *behind]))
    whole = min(turn.open**turns * ends, TOO_MANY)
    return Ways(whole, max(whole, turn.tried))


def _begin(nodes: Sequence[Any], behind: Ranges) -> Ranges:
    """The characters that these parts, and what follows them, may begin with."""
    found: list[tuple[int, int]] = []
    for node in nodes:
        allowed, may_be_empty = _begin_of(node)
        found += allowed
        if not may_be_empty:
            return merge_ranges(found)
    return merge_ranges([*found, *behind])


def _begin_of(node: Any) -> tuple[Ranges, bool]:
    """The same of one part, and whether it may be empty."""
    kind, value = node
    if (allowed := _one([node])) is not None:
        return allowed, False
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return _begin(value[2], ()), value[0] == 0 or _may_be_empty(value[2])
    if kind is op.BRANCH:
        begins = [span for way in value[1] for span in _begin(way, ())]
        return merge_ranges(begins), any(map(_may_be_empty, value[1]))
    if kind in (op.SUBPATTERN, op.ATOMIC_GROUP):
        inner = value[3] if kind is op.SUBPATTERN else value
        return _begin(inner, ()), _may_be_empty(inner)
    return ((), True) if kind in ZERO_WIDTH else (EVERYTHING, True)


def _may_be_empty(nodes: Sequence[Any]) -> bool:
    return all(_begin_of(node)[1] for node in nodes)


def _one(nodes: Sequence[Any]) -> Ranges | None:
    """The set of a part that is one character; of one that nobody can name, all of them."""
    try:
        return one_character(nodes)
    except NotPlain:
        return EVERYTHING if len(nodes) == 1 else None
