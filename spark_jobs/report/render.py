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
from spark_jobs.report.flow import draw_tall, draw_wide, make_nodes
from spark_jobs.report.index import RunLine
from spark_jobs.report.text import say_origin, sign_of, title_of, tone_of
from spark_jobs.report.trend import draw_rule_trend, draw_table_trend

RUNS_DRAWN = 30
TEMPLATES = Path(__file__).parent / "templates"
ON_FAIL = {
    "quarantine": "Failing rows are quarantined",
    "warn": "A failure is reported and blocks nothing",
    "block": "A failure blocks the batch",
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
