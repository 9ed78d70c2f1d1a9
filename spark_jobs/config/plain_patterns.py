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

from spark_jobs.config.characters import (
    NotPlain,
    Ranges,
    characters_of,
    have_common,
    merge_ranges,
    one_character,
)

MOST_REPEATS = 256
"""Characters that counted repetitions may take together."""
MOST_WAYS = 100
"""Ways through choices that cannot be told apart by their next character."""
READ_OTHERWISE = re.compile(r"\[\[|\[\^?[^\]]*\[|\{,|\\[0-9Z]")
"""What Python reads in another way than RE2, or RE2 not at all."""


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
                have_common(one, other) for at, one in enumerate(firsts) for other in firsts[at + 1 :]
            )
            inner = [_ways(way, behind) for way in part.ways]
            ways *= max(inner, default=1) if is_decided else sum(inner)
        elif (
            isinstance(part, Repeated) and part.most is not None and have_common(part.allowed, _first(behind))
        ):
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
        elif isinstance(part, Repeated) and part.most is None and have_common(part.allowed, _first(behind)):
            later = list(_endless(behind))
            if later and (
                not isinstance(behind[0], Characters)
                or any(have_common(behind[0].allowed, other) for other in later)
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
    return merge_ranges(allowed)


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
