"""From a report to HTML. Everything is escaped, nothing is loaded, no script can run: the page's own policy forbids all but its style."""

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
from spark_jobs.report import figures
from spark_jobs.report.facts import Point, Report, RuleState
from spark_jobs.report.flow import draw_tall, draw_wide, make_nodes
from spark_jobs.report.index import RunLine
from spark_jobs.report.origin import say_origin
from spark_jobs.report.titles import sign_of, title_of, tone_of
from spark_jobs.report.trend import draw_rule_trend, draw_table_trend

RUNS_DRAWN = 30
TEMPLATES = Path(__file__).parent / "templates"
ON_FAIL = {
    "quarantine": "Failing rows are set aside",
    "warn": "A failure is said, and stops nothing",
    "block": "A failure holds the batch back",
}


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
        rule_trends={(table.name, rule.name): draw_rule_trend(rule.trend) for table in report.tables for rule in table.rules},
        open_quarantine=sum(table.quarantine_open for table in report.tables),
        open_parked=sum(table.parked_open for table in report.tables),
        most_open=max((reason.open_rows for reason in report.reasons), default=1),
        shown_classes=[name for name in (*CLASSES, "late", "ties") if any(getattr(entry.counts, name) for entry in report.balance)],
    )


def render_index(title: str, caption: str, lines: Sequence[RunLine], made_at: datetime, made_by: str, *, is_one_pipeline: bool) -> str:
    points = [Point(line.link, line.started_at, line.published, max(0, line.set_aside)) for line in reversed(lines[:RUNS_DRAWN])]
    trend = draw_table_trend(points) if is_one_pipeline else None
    return _render("index.html", made_at, made_by, title=title, caption=caption, lines=lines, is_one_pipeline=is_one_pipeline, trend=trend)


def as_json(report: Report) -> dict[str, Any]:
    """The same data for machines; times as text."""
    plain: dict[str, Any] = _plain(asdict(report))
    return plain


def _render(template: str, made_at: datetime, made_by: str, **values: Any) -> str:
    style, style_hash = _style()
    return _environment().get_template(template).render(style=style, style_hash=style_hash, made_at=made_at, made_by=made_by, **values)


@cache
def _style() -> tuple[Markup, str]:
    """The one style sheet, and its hash: the only thing that the page's policy lets through."""
    text = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "age": figures.age,
        "origin": say_origin,
        "number": figures.number,
        "moment": figures.moment,
        "duration": figures.duration,
        "rate": figures.rate,
        "share": figures.share,
        "rows": lambda rows: "–" if rows is None else figures.count(rows, "row"),
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
    middle = [table for table in worked if table.name.startswith(("silver.", "dimension."))]
    rules = [rule for table in report.tables for rule in table.rules]
    met = sum(rule.state is RuleState.MET for rule in rules)
    records = sum(table.counts.inserted for table in worked if table.name.startswith("bronze."))
    aside = sum(table.counts.quarantined + table.counts.parked for table in middle)
    waiting = sum(table.quarantine_open + table.parked_open for table in report.tables)
    return [
        Headline("Records read", figures.number(records), figures.count(sum(source.files or 0 for source in report.sources), "file")),
        Headline("Rows published", figures.number(sum(table.counts.published for table in middle)), "in silver and dimensions"),
        Headline("Rows set aside", figures.number(aside), f"{waiting:,} stand there in all"),
        Headline("Expectations", f"{met} of {len(rules)}" if rules else "–", "hold" if rules else "none were judged"),
        Headline("Took", figures.duration(report.run.seconds), figures.count(len(worked), "table")),
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value
