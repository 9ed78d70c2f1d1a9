"""The characters that one place of a regular expression matches, as ranges of code points."""

from collections.abc import Iterable, Sequence
from re import _constants as op  # type: ignore[attr-defined]  # the parser of Python's own expressions has no public name
from typing import Any

Ranges = tuple[tuple[int, int], ...]
LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)
DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE: Ranges = ((9, 10), (12, 13), (32, 32))
CATEGORIES = {op.CATEGORY_DIGIT: DIGITS, op.CATEGORY_WORD: WORD, op.CATEGORY_SPACE: SPACE}
NEGATED = {op.CATEGORY_NOT_DIGIT: DIGITS, op.CATEGORY_NOT_WORD: WORD, op.CATEGORY_NOT_SPACE: SPACE}


class NotPlain(Exception):
    """Java might not come to an end with it."""


def characters_of(node: tuple[Any, Any]) -> Ranges | None:
    """The set of a part that is one character; None for any other."""
    kind, value = node
    if kind is op.LITERAL:
        return ((value, value),)
    if kind is op.NOT_LITERAL:
        return complement_of(((value, value),))
    if kind is op.ANY:
        return complement_of(((10, 10),))
    if kind is op.IN:
        is_negated = bool(value) and value[0][0] is op.NEGATE
        named = merge_ranges(
            found for member in (value[1:] if is_negated else value) for found in _member(member)
        )
        return complement_of(named) if is_negated else named
    return None


def one_character(nodes: Sequence[Any]) -> Ranges | None:
    """The set of a part that is one character, also where brackets stand around it."""
    if len(nodes) != 1:
        return None
    kind, value = nodes[0]
    if kind is op.SUBPATTERN and not value[1] and not value[2]:
        return one_character(value[3])
    return characters_of(nodes[0])


def _member(member: tuple[Any, Any]) -> Ranges:
    kind, value = member
    if kind is op.LITERAL:
        return ((value, value),)
    if kind is op.RANGE:
        return (tuple(value),)
    if kind is op.CATEGORY and value in CATEGORIES:
        return CATEGORIES[value]
    if kind is op.CATEGORY and value in NEGATED:
        return complement_of(NEGATED[value])
    raise NotPlain


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement_of(ranges: Sequence[tuple[int, int]]) -> Ranges:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def have_common(one: Ranges, other: Ranges) -> bool:
    return any(
        low <= high_other and low_other <= high for low, high in one for low_other, high_other in other
    )
