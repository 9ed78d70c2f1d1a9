"""From a report to HTML. Everything is escaped, nothing is loaded, no script can run: the page's own policy
forbids all but its style.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.lake.counts import CLASSES
from spark_jobs.report import text
from spark_jobs.report.facts import Point, Report, RuleState
from spark_jobs.report.flow import draw_tall, draw_wide
from spark_jobs.report.flow_nodes import make_nodes
from spark_jobs.report.index import RunLine
from spark_jobs.report.text import count, moment, number, say_origin, share, sign_of, title_of, tone_of

RUNS_DRAWN = 30
TEMPLATES = Path(__file__).parent / "templates"
ON_FAIL = {
    "quarantine": "Failing rows are quarantined",
    "tag": "Failing rows are published with the rule's name in _failed_rules",
    "warn": "A failure is reported and blocks nothing",
    "block": "A failure blocks the batch",
}

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


@dataclass(frozen=True)
class Headline:
    name: str
    value: str
    note: str


def render_run(report: Report) -> str:
    nodes = make_nodes(report.sources, report.tables, report.gates)
    return _render(
        "run.html",
        report.made_at,
        report.made_by,
        report=report,
        headline=_headline(report),
        wide=draw_wide(nodes),
        tall=draw_tall(nodes),
        table_trends={table.name: draw_table_trend(table.trend) for table in report.tables},
        rule_trends={
            (table.name, rule.name): draw_rule_trend(rule.trend)
            for table in report.tables
            for rule in table.rules
        },
        open_quarantine=sum(table.quarantine_open for table in report.tables),
        open_parked=sum(table.parked_open for table in report.tables),
        open_late=sum(table.late_open for table in report.tables),
        late_tables=[f"late.{table.name}" for table in report.tables if table.late_open],
        most_open=max((reason.open_rows for reason in report.reasons), default=1),
        shown_classes=[
            name
            for name in (*CLASSES, "late", "ties")
            if any(getattr(entry.counts, name) for entry in report.balance)
        ],
    )


def render_index(
    title: str,
    caption: str,
    lines: Sequence[RunLine],
    made_at: datetime,
    made_by: str,
    *,
    is_one_pipeline: bool,
) -> str:
    points = [
        Point(line.link, line.started_at, line.published, max(0, line.set_aside))
        for line in reversed(lines[:RUNS_DRAWN])
    ]
    trend = draw_table_trend(points, "set aside") if is_one_pipeline else None
    return _render(
        "index.html",
        made_at,
        made_by,
        title=title,
        caption=caption,
        lines=lines,
        is_one_pipeline=is_one_pipeline,
        trend=trend,
    )


def as_json(report: Report) -> dict[str, Any]:
    """The same data for machines; times as text."""
    plain: dict[str, Any] = _plain(asdict(report))
    return plain


def _render(template: str, made_at: datetime, made_by: str, **values: Any) -> str:
    style, style_hash = _style()
    return (
        _environment()
        .get_template(template)
        .render(style=style, style_hash=style_hash, made_at=made_at, made_by=made_by, **values)
    )


@cache
def _style() -> tuple[Markup, str]:
    """The one style sheet, and its hash: the only thing that the page's policy lets through."""
    text = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "apart": text.apart,
        "origin": say_origin,
        "number": text.number,
        "moment": text.moment,
        "duration": text.duration,
        "rate": text.rate,
        "share": text.share,
        "files": lambda files: text.count(files, "file"),
        "rows": lambda rows: "–" if rows is None else text.count(rows, "row"),
        "part": lambda rows, most: round(100 * rows / most, 1),
        "bdi": lambda text: Markup("<bdi>{}</bdi>").format(text),
        "title_of": title_of,
        "tone": tone_of,
        "sign": sign_of,
        "on_fail": lambda kind: ON_FAIL.get(kind, str(kind)),
    }
    return environment


def _headline(report: Report) -> list[Headline]:
    worked = [table for table in report.tables if not table.state.is_still]
    rules = [rule for table in report.tables for rule in table.rules]
    met = sum(rule.state is RuleState.MET for rule in rules)
    totals, files = report.totals, sum(source.files or 0 for source in report.sources)
    return [
        Headline("Records read", text.number(totals.records), text.count(files, "file")),
        Headline(
            "Silver rows published",
            text.number(totals.published),
            f"{text.number(totals.members)} in dimensions",
        ),
        Headline("Rows set aside", text.number(totals.set_aside), _aside_note(report)),
        Headline(
            "Expectations", f"{met} of {len(rules)}" if rules else "–", "met" if rules else "none were judged"
        ),
        Headline("Took", text.duration(report.run.seconds), text.count(len(worked), "table")),
    ]


def _aside_note(report: Report) -> str:
    """What the number is made of, which rows went on, and what is there over all runs."""
    totals = report.totals
    parts = {"quarantined": totals.quarantined, "parked": totals.parked, "late": totals.late_kept}
    said = [f"{rows:,} {what}" for what, rows in parts.items() if rows]
    said += [f"{text.count(totals.went_on, 'row')} no longer"] * (totals.went_on > 0)
    waiting = sum(table.quarantine_open + table.parked_open + table.late_open for table in report.tables)
    return ", ".join([*said, f"{waiting:,} over all runs"])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value


# The last runs of a rule or a table as small bars, oldest first. Only geometry; the template draws it.


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
    what = "rows failed" if any(point.bad for point in points) else "not met"  # rows may fail and it be met
    found = f"{what} in {failed} of {len(points)}" if failed else "all met"
    words = f"{count(len(points), 'run')}, oldest first: {found}"
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
