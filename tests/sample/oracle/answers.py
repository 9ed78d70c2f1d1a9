"""The true answers: what the tables of the shipped pipelines should hold for the files in a landing folder.

Plain Python over the files alone, independent of the engine: one pass, all in memory, so meant for up to some
hundred thousand orders.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.sample.oracle.click_answers import click_answers
from tests.sample.oracle.decode import Row
from tests.sample.oracle.retail_answers import retail_answers

# The sample's future times are far behind this and all others far before it, so that answers do not depend on
# when a file arrived.
FUTURE_FROM = datetime(2090, 1, 1, tzinfo=UTC)


def true_answers(landing: Path, future_from: datetime = FUTURE_FROM) -> dict[str, list[Row]]:
    """The business columns per full table name, in a fixed order, and 'counts': the quarantined and filtered
    rows per table.
    """
    if not landing.is_dir():
        raise FileNotFoundError(
            f"landing folder {landing} does not exist; write one with `weir sample` or give another"
        )
    retail, retail_counts = retail_answers(landing, future_from)
    clicks, click_counts = click_answers(landing, future_from)
    tables = {name: sorted(rows, key=_rank) for name, rows in {**retail, **clicks}.items()}
    return {**tables, "counts": retail_counts + click_counts}


def write_answers(landing: Path, out: Path) -> list[Path]:
    """One JSON-lines file per table: times as ISO text with Z, decimals as text."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for table, rows in true_answers(landing).items():
        path = out / f"{table}.jsonl"
        path.write_text(
            "".join(json.dumps(row, default=_text, ensure_ascii=False) + "\n" for row in rows),
            encoding="utf-8",
        )
        written.append(path)
    return written


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{value!r} has no text in an answer")


def _rank(row: Row) -> list[Any]:
    """NULL before every value, as Spark sorts."""
    return [(value is not None, value) if value is not None else (False,) for value in row.values()]
