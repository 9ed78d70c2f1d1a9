"""The last runs of a rule or a table as small bars, oldest first. Only geometry; the template draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.report.facts import Point
from spark_jobs.report.text import count, moment, number, share

STEP, BAR, HEIGHT = 7, 5, 28
LEAST = 3
TICK = 2
"""A run in which nothing was wrong is a tick on the ground, so that it can be told from no run at all."""


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    height: float
    is_bad: bool
    text: str


@dataclass(frozen=True)
class Trend:
    width: int
    height: int
    bars: tuple[Bar, ...]
    description: str


def draw_rule_trend(points: Sequence[Point]) -> Trend | None:
    """The share of rows that failed; a rule about a whole table is met or not. None where there is only one
    run to show.
    """
    if len(points) < 2:
        return None
    shares = [_share(point) for point in points]
    most = max(shares) or 1
    bars = [
        _bar(place, part / most, part > 0, _say_rule(point))
        for place, (point, part) in enumerate(zip(points, shares, strict=True))
    ]
    failed = sum(part > 0 for part in shares)
    words = (
        f"{count(len(points), 'run')}, oldest first:"
        f" {'all met' if not failed else f'{failed} of {len(points)} with failures'}"
    )
    return Trend(_width(points), HEIGHT, tuple(bars), words)


def draw_table_trend(points: Sequence[Point], aside: str = "quarantined") -> Trend | None:
    """The rows that were published, and on top of them those that were not: `aside` says what they are."""
    if len(points) < 2:
        return None
    most = max((_all(point) for point in points), default=0) or 1
    bars: list[Bar] = []
    for place, point in enumerate(points):
        said = _say_table(point, aside)
        published = _bar(place, (point.rows or 0) / most, False, said)
        bars.append(published)
        if point.bad:
            height = max(LEAST, HEIGHT * point.bad / most)
            bars.append(Bar(published.x, max(0, published.y - height), round(height, 1), True, said))
    published_rows = [point.rows or 0 for point in points]
    words = (
        f"Rows published in {count(len(points), 'run')}, oldest first: from {min(published_rows):,} to"
        f" {max(published_rows):,}"
    )
    return Trend(_width(points), HEIGHT, tuple(bars), words)


def _bar(place: int, part: float, is_bad: bool, text: str) -> Bar:
    height = max(LEAST, part * HEIGHT) if part > 0 else TICK
    return Bar(place * STEP, round(HEIGHT - height, 1), round(height, 1), is_bad, text)


def _share(point: Point) -> float:
    if point.rows and point.bad is not None:
        return point.bad / point.rows
    return 0.0 if point.is_met else 1.0


def _all(point: Point) -> int:
    return (point.rows or 0) + (point.bad or 0)


def _say_rule(point: Point) -> str:
    what = (
        f"{share(point.bad, point.rows)} of {count(point.rows, 'row')}"
        if point.rows and point.bad is not None
        else ""
    )
    return f"{moment(point.at)}: {what or ('met' if point.is_met else 'not met')}"


def _say_table(point: Point, aside: str) -> str:
    return f"{moment(point.at)}: {number(point.rows)} published, {number(point.bad)} {aside}"


def _width(points: Sequence[Point]) -> int:
    return len(points) * STEP
