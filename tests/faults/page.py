"""The matrices of docs/faults.md, made of the deaths that tests have died and of what the lakes came to.

`WEIR_WRITE_PAGES=1 python -m pytest -m system tests/faults/test_matrix.py tests/faults/test_kill.py` writes
them; without it, a page that says something else fails.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from spark_jobs.lake.failpoints import POINTS
from tests.conftest import ROOT, Workshop
from tests.faults.deaths import Point
from tests.faults.shop import contents, missing_rows

FILE = ROOT / "docs" / "faults.md"
AGAIN = "nothing is done again"
OF_UPKEEP = {"compact": "the same rows, in fewer files", "delete": "the same rows; old files go now or later"}
EXPECTED = {
    ("bronze", "between"): "each file is registered once, in the same chunk order",
    ("bronze", "stream"): "each record of a chunk is there once",
    ("dimension, scd1", "stream"): "the newest version of each member, counted once",
    ("dimension, scd1", "swap"): "the rebuilt table, and those downstream",
    ("dimension, scd2", "stream"): "the same intervals, each once",
    ("silver, with a key", "stream"): "each key once, deleted ones not at all",
    ("silver, with a key", "reenrich"): "each fact with its member of now",
    ("silver, with a key", "unpark"): "an unparked row is published, and no longer parked",
    ("silver, without a key", "stream"): "each row once, though no key could tell a second one",
    ("silver, without a key", "reenrich"): "each fact with its member of now",
    ("silver, without a key", "unpark"): "an unparked row is published once, and no longer in quarantine",
    (
        "silver, with a computed column",
        "stream",
    ): "each key once; what was set aside is in quarantine",
    ("silver, with a computed column", "swap"): "the rebuilt table, and those downstream",
    ("gold, update and repair", "stream"): "each window once, of the current silver rows",
    ("gold, update and repair", "rebuild"): "each window once, of the rebuilt silver rows",
    ("gold, update and repair", "swap"): "the rebuilt table",
    ("gold, sessions", "stream"): "each session once, of the current silver rows",
    ("gold, sessions", "rebuild"): "each session once, of the rebuilt silver rows",
    ("gold, sessions", "swap"): "the rebuilt table",
    ("gold, append and keep", "stream"): "closed windows stay as they were shown",
    ("gold, append and keep", "close"): "each window that has closed is shown once",
    ("gold, append and keep", "swap"): "the rebuilt table",
    ("gold, complete", "complete"): "the whole table, of the current silver rows",
    ("gold, complete", "swap"): "the rebuilt table",
    ("gold over another pipeline, update", "changes"): "each window once, of the other's rows at one version",
    ("gold over another pipeline, append and keep", "changes"): "closed windows stay as they were shown",
    ("gold over another pipeline, append and keep", "close"): "each window that has closed is shown once",
    ("late rows of another pipeline", "changes"): "each late row once per window",
    ("late rows of another pipeline", "close"): "late rows of windows that have closed",
    ("quarantine", "stream"): "each refused row once, with its reasons",
    ("quarantine", "unpark"): "rows whose member came have left",
    ("quarantine", "swap"): "the rebuilt quarantine",
    ("parked", "stream"): "each waiting row once",
    ("parked", "swap"): "the rebuilt rows that wait",
    ("parked", "unpark"): "rows whose member came have left",
    ("deleted", "stream"): "each deleted key once; an older version does not revive it",
    ("late", "stream"): "each late row once per window",
    ("late", "swap"): "the rebuilt late rows",
    ("late", "close"): "late rows of windows that have closed",
    ("silver, without a key", "swap"): "the rebuilt table, and those downstream",
    ("ledger: runs", "between"): "a run that has no end is followed by one that has",
    ("ledger: rules", "between"): "the rules are noted, and judge as they say",
    ("ledger: drift", "between"): "what is new in the files is noted once",
    ("ledger: expectations", "between"): "the batch is judged again",
    ("ledger: decisions", "between"): "what was decided holds; what was not written down is decided again",
    ("ledger: definitions", "swapping"): "readers see the old tables, or in the end all of the new ones",
    ("ledger: definitions", "live"): "readers see all of the new tables",
}
"""By kind of table and step. *Between* stands for the points that belong to no batch."""

Seen = dict[Point, str]


def look(workshop: Workshop, expected: Mapping[str, list[str]], pipeline: str) -> str:
    """What became of a lake in which processes have died, in the words of the page."""
    found = contents(workshop, pipeline)
    differing = sorted(table for table in {*found, *expected} if found.get(table) != expected.get(table))
    missing = sum(abs(rows) for rows in missing_rows(workshop, pipeline).values())
    return f"{'equal' if not differing else 'other rows in ' + ', '.join(differing)}, {missing:,} missing"


def matrix(seen: Mapping[Point, str], kinds: Mapping[str, str]) -> dict[tuple[str, str, str], set[str]]:
    """Kind of table, step and what was seen, with the points of which it was seen."""
    rows: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for (name, table, step), outcome in seen.items():
        rows[_kind(name, table, kinds), _step(name, step), outcome].add(name)
    return rows


def _kind(point: str, table: str, kinds: Mapping[str, str]) -> str:
    layer, _, name = table.partition(".")
    beside = {
        "ledger": "ledger" if point.startswith("upkeep.") else f"ledger: {name}",
        "arrivals": "arrivals",
    }
    return beside[layer] if layer in beside else kinds[table]


def _step(point: str, step: str) -> str:
    """What the table is doing; *between* stands for points that belong to no batch and no swap."""
    return step.partition(".")[0] or ("swap" if point.startswith("swap.") else "between")


def render(rows: Mapping[tuple[str, str, str], set[str]]) -> str:
    lines = ["| table | step | dies at | expected | seen |", "|---|---|---|---|---|"]
    for (kind, step, seen), points in rows.items():
        named = ", ".join(f"`{point}`" for point in POINTS if point in points)
        expected = OF_UPKEEP.get(step) or EXPECTED.get((kind, step), AGAIN)
        lines.append(f"| {kind} | {step} | {named} | {expected} | {seen} |")
    return "\n".join(lines)


def by_kind(found: Iterable[Mapping[tuple[str, str, str], set[str]]]) -> dict[tuple[str, str, str], set[str]]:
    """Several matrices as one, in the order of the table above."""
    together: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for rows in found:
        for key, points in rows.items():
            together[key] |= points
    known = [kind for kind, _ in EXPECTED]
    return dict(
        sorted(
            together.items(),
            key=lambda row: (known.index(row[0][0]) if row[0][0] in known else len(known), row[0]),
        )
    )


def check_part(name: str, text: str) -> None:
    """The part of the page between its two marks says this; with WEIR_WRITE_PAGES it is made to."""
    page, part = (
        FILE.read_text(encoding="utf-8"),
        re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL),
    )
    made = part.sub(lambda marks: f"{marks[1]}{text}\n{marks[2]}", page)
    assert part.search(page), f"docs/faults.md has no part <!-- {name} -->"
    if os.environ.get("WEIR_WRITE_PAGES"):
        FILE.write_text(made, encoding="utf-8")
    assert made == FILE.read_text(encoding="utf-8"), (
        "docs/faults.md says something else than what was seen; WEIR_WRITE_PAGES=1 writes it"
    )
