"""Which regular expressions Java can be trusted with: what enters is a pattern of a rule, what leaves is the
same pattern in Java's words.

Rules are judged by RE2, which takes time in proportion to the value, whatever the pattern. Java's engine,
which Spark has at hand, goes back and calls itself: `^(a|b)*$` ends the JVM on a value of some thousand
characters, `^(\\w+\\s?)*$` takes for ever on one of forty. Most patterns are simpler than that, and for them
RE2, which needs a Python process, would only cost time. They are recognised here: at most one repetition that
may have to give something back, and none of a group. What is written for Java says every set of characters
and every end in full, so that it means what RE2 takes it to mean.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from re import _constants as op  # type: ignore[attr-defined]  # the parser of Python's own expressions has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Ranges = tuple[tuple[int, int], ...]
LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)
DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE: Ranges = ((9, 10), (12, 13), (32, 32))
CATEGORIES = {op.CATEGORY_DIGIT: DIGITS, op.CATEGORY_WORD: WORD, op.CATEGORY_SPACE: SPACE}
NEGATED = {op.CATEGORY_NOT_DIGIT: DIGITS, op.CATEGORY_NOT_WORD: WORD, op.CATEGORY_NOT_SPACE: SPACE}
MOST_REPEATS = 256
"""Characters that counted repetitions may take together."""
MOST_WAYS = 100
"""Ways through choices that cannot be told apart by their next character."""
READ_OTHERWISE = re.compile(r"\[\[|\[\^?[^\]]*\[|\{,|\\[0-9Z]")
"""What Python reads in another way than RE2, or RE2 not at all."""


class NotPlain(Exception):
    """Java might not come to an end with it."""


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    allowed: Ranges


@dataclass(frozen=True)
class Repeated:
    """A character of a set, several times; without an end where `most` is None."""

    allowed: Ranges
    least: int
    most: int | None


@dataclass(frozen=True)
class Choice:
    ways: tuple["Sequence_", ...]


@dataclass(frozen=True)
class End:
    """The end of the value."""


Part = Characters | Repeated | Choice | End
Sequence_ = tuple[Part, ...]


def plain_java(pattern: str) -> str | None:
    """The pattern in Java's words; None where it is not plain."""
    try:
        if READ_OTHERWISE.search(pattern):
            raise NotPlain
        return "|".join(_alternative(nodes) for nodes in _alternatives(parse(pattern)))
    except (NotPlain, re.error, OverflowError, RecursionError):
        return None


def ways_of_turn(nodes: Sequence[Any], endless: int) -> int:
    """In how many ways one turn of a repeated group can go, the next turn behind it; each endless repetition
    in it counts for so many. NotPlain where its parts are not those of a plain pattern.
    """
    parts = _sequence(nodes)
    return _ways(parts, parts) * int(endless ** _giving_back(parts, parts))


def parse(pattern: str) -> list[Any]:
    """The pattern as Python's own parser takes it apart. NotPlain where flags change what its parts mean."""
    with warnings.catch_warnings(action="ignore"):
        parsed = parser.parse(pattern)
    if parsed.state.flags & ~re.UNICODE:
        raise NotPlain
    return list(parsed)


def characters_of(node: tuple[Any, Any]) -> Ranges | None:
    """The set of a part that is one character; None for any other."""
    kind, value = node
    if kind is op.LITERAL:
        return ((value, value),)
    if kind is op.NOT_LITERAL:
        return _complement(((value, value),))
    if kind is op.ANY:
        return _complement(((10, 10),))
    if kind is op.IN:
        is_negated = bool(value) and value[0][0] is op.NEGATE
        named = _merged(found for member in (value[1:] if is_negated else value) for found in _member(member))
        return _complement(named) if is_negated else named
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
        return _complement(NEGATED[value])
    raise NotPlain


def _alternatives(nodes: list[Any]) -> list[list[Any]]:
    """Patterns of their own, where the whole is a choice of some; the parser puts what they all begin with in
    front.
    """
    if nodes and nodes[-1][0] is op.BRANCH:
        return [[*nodes[:-1], *way] for way in nodes[-1][1][1]]
    return [nodes]


def _alternative(nodes: list[Any]) -> str:
    is_anchored = bool(nodes) and nodes[0] in ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))
    has_end = bool(nodes) and nodes[-1] == (op.AT, op.AT_END)
    parts = _sequence(nodes[is_anchored : len(nodes) - has_end]) + ((End(),) if has_end else ())
    if not is_anchored and any(True for _ in _endless(parts)):
        raise NotPlain  # tried from each character on, a repetition reads the rest of the value each time
    _check_width(parts)
    if _ways(parts, ()) > MOST_WAYS or _giving_back(parts, ()) > 1:
        raise NotPlain
    return ("\\A" if is_anchored else "") + "".join(_java(part) for part in parts)


def _sequence(nodes: Iterable[Any]) -> Sequence_:
    return tuple(part for node in nodes for part in _parts(node))


def _parts(node: tuple[Any, Any]) -> Sequence_:
    allowed = characters_of(node)
    if allowed is not None:
        return (Characters(allowed),)
    kind, value = node
    if kind is op.SUBPATTERN:
        _, added, taken_away, inner = value
        if added or taken_away:
            raise NotPlain
        return _sequence(inner)
    if kind is op.BRANCH:
        return (Choice(tuple(_sequence(way) for way in value[1])),)
    # to give as much or as little as possible makes no difference to whether it is found
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inner = value
        of_one = one_character(inner)
        if of_one is not None:
            return (Repeated(of_one, least, None if most == op.MAXREPEAT else int(most)),)
        if (least, most) == (0, 1):
            return (Choice((_sequence(inner), ())),)
    raise NotPlain


def _check_width(parts: Sequence_) -> None:
    """Few characters to count: Java calls itself for each of them where their widths differ."""
    if sum(part.most or part.least for part in _all(parts) if isinstance(part, Repeated)) > MOST_REPEATS:
        raise NotPlain


def _ways(parts: Sequence_, rest: Sequence_) -> int:
    """In how many ways choices and counted repetitions can be gone through that the next character does not
    decide.
    """
    ways = 1
    for place, part in enumerate(parts):
        behind = parts[place + 1 :] + rest
        if isinstance(part, Choice):
            firsts = [_first(way + behind) for way in part.ways]
            is_decided = not any(
                _meet(one, other) for at, one in enumerate(firsts) for other in firsts[at + 1 :]
            )
            inner = [_ways(way, behind) for way in part.ways]
            ways *= max(inner, default=1) if is_decided else sum(inner)
        elif isinstance(part, Repeated) and part.most is not None and _meet(part.allowed, _first(behind)):
            ways *= part.most - part.least + 1
    return ways


def _giving_back(parts: Sequence_, rest: Sequence_) -> int:
    """How many endless repetitions may have read too much. Each character that one gives back must then lead
    to a short look only: it ends at a character that no later repetition takes.
    """
    found = 0
    for place, part in enumerate(parts):
        behind = parts[place + 1 :] + rest
        if isinstance(part, Choice):
            found += sum(_giving_back(way, behind) for way in part.ways)
        elif isinstance(part, Repeated) and part.most is None and _meet(part.allowed, _first(behind)):
            later = list(_endless(behind))
            if later and (
                not isinstance(behind[0], Characters)
                or any(_meet(behind[0].allowed, other) for other in later)
            ):
                raise NotPlain
            found += 1
    return found


def _first(parts: Sequence_) -> Ranges:
    """The characters that these parts may begin with."""
    allowed: list[tuple[int, int]] = []
    for part in parts:
        if isinstance(part, Choice):
            allowed += [found for way in part.ways for found in _first(way)]
            if all(_is_something(way) for way in part.ways):
                break
        elif isinstance(part, Characters | Repeated):
            allowed += part.allowed
            if isinstance(part, Characters) or part.least:
                break
        else:
            break
    return _merged(allowed)


def _is_something(parts: Sequence_) -> bool:
    """Whether they take at least one character, or stand at the end."""
    return any(
        (
            all(_is_something(way) for way in part.ways)
            if isinstance(part, Choice)
            else not isinstance(part, Repeated) or part.least > 0
        )
        for part in parts
    )


def _endless(parts: Sequence_) -> Iterable[Ranges]:
    return (part.allowed for part in _all(parts) if isinstance(part, Repeated) and part.most is None)


def _all(parts: Sequence_) -> Iterable[Part]:
    for part in parts:
        yield part
        for way in part.ways if isinstance(part, Choice) else ():
            yield from _all(way)


def _java(part: Part) -> str:
    if isinstance(part, End):
        return "\\z"
    if isinstance(part, Choice):
        return f"(?:{'|'.join(''.join(map(_java, way)) for way in part.ways)})"
    one = _java_set(part.allowed)
    if isinstance(part, Characters):
        return one
    return f"{one}{{{part.least},{'' if part.most is None else part.most}}}"


def _java_set(allowed: Ranges) -> str:
    if not allowed:
        return "(?!)"
    if len(allowed) == 1 and allowed[0][0] == allowed[0][1]:
        return f"\\x{{{allowed[0][0]:x}}}"
    return "[" + "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in allowed) + "]"


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Sequence[tuple[int, int]]) -> Ranges:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def _meet(one: Ranges, other: Ranges) -> bool:
    return any(
        low <= high_other and low_other <= high for low, high in one for low_other, high_other in other
    )
