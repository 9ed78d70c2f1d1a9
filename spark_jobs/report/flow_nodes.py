"""The boxes of a run's picture, before they have a place: one per file or table, with its rows and what
branched off.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark_jobs.config.names import name_at_home, other_pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.report.facts import GateFact, TableFact, TableState
from spark_jobs.report.source_facts import SourceFact
from spark_jobs.report.text import count, number

WIDTH, GAP, HEAD = 176, 52, 30
TITLE_HEIGHT, LINE_HEIGHT, SPACE = 32, 17, 26
PADDING = 12
NARROW, WIDE = "fijlt. ", "mwMW"
"""Letters that take half the room of others, and half as much again."""
LETTER = 9.8
ASIDES = ("quarantined", "parked", "deleted", "superseded", "duplicate", "filtered")
ALARMING = ("quarantined", "blocked", "late, not counted", "not taken", "key tied", "keys tied")


STILL = {
    TableState.NOT_REACHED: "not reached",
    TableState.UP_TO_DATE: "nothing to do",
    TableState.NOT_IN_RUN: "not in this run",
    TableState.NO_TRACE: "no trace of it",
}


@dataclass(frozen=True)
class Branch:
    """Rows that left the flow at a box."""

    text: str
    is_alarming: bool


@dataclass(frozen=True)
class Node:
    """What a box says, before it has a place."""

    name: str
    layer: str
    titles: tuple[str, ...]
    lines: tuple[str, ...]
    branches: tuple[Branch, ...]
    is_still: bool
    inputs: tuple[str, ...]
    rows: int

    @property
    def height(self) -> int:
        return TITLE_HEIGHT + LINE_HEIGHT * (len(self.titles) - 1 + len(self.lines))

    @property
    def full_height(self) -> int:
        return self.height + LINE_HEIGHT * len(self.branches)


def make_nodes(
    sources: Sequence[SourceFact], tables: Sequence[TableFact], gates: Sequence[GateFact]
) -> list[Node]:
    """One node per source and table, and per table of another pipeline that is read. Sources that silver
    tables read come first, so that lines to them pass above the dimensions.
    """
    read = {name for table in tables if TableName(table.name).is_in("silver") for name in table.inputs}
    ordered = sorted(sources, key=lambda source: f"bronze.{source.name}" not in read)
    order = [f"bronze.{source.name}" for source in ordered]
    bronze = sorted(
        (table for table in tables if table.name in order), key=lambda table: order.index(table.name)
    )
    others = [table for table in tables if table.name not in order]
    known = [
        *(_source_node(source) for source in ordered),
        *(_table_node(table, gates) for table in (*bronze, *others)),
    ]
    return known + [
        _other_node(name, tables)
        for name in dict.fromkeys(name for table in tables for name in table.inputs)
        if other_pipeline(name)
    ]


def _source_node(source: SourceFact) -> Node:
    branches = (_branch(source.not_taken, "not taken"),) if source.not_taken else ()
    lines = (count(source.files, "file") if source.files is not None else "no files in this run",)
    return Node(
        f"landed.{source.name}",
        "landed",
        wrap(source.name),
        lines,
        branches,
        not source.files,
        (),
        source.files or 0,
    )


def _other_node(name: str, tables: Sequence[TableFact]) -> Node:
    is_still = all(table.state.is_still for table in tables if name in table.inputs)
    return Node(
        name, "other", wrap(name_at_home(name)), wrap(f"of {other_pipeline(name)}"), (), is_still, (), 0
    )


def _table_node(table: TableFact, gates: Sequence[GateFact]) -> Node:
    layer, name = TableName(table.name).parts
    inputs = (f"landed.{name}",) if layer == "bronze" else table.inputs
    is_still = table.state.is_still
    lines = (STILL[table.state],) if is_still else _lines(layer, table)
    return Node(
        table.name,
        layer,
        wrap(name),
        lines,
        tuple(_branches(table, gates)),
        is_still,
        inputs,
        table.counts.rows_in,
    )


def _lines(layer: str, table: TableFact) -> tuple[str, ...]:
    if table.state in (TableState.BLOCKED, TableState.FAILED) and not table.counts.rows_in:
        return (
            (table.state.value, "nothing published")
            if table.state is TableState.FAILED
            else ("nothing published",)
        )
    if layer == "bronze":
        return (count(table.counts.inserted, "record"),)
    if layer == "gold":
        return (f"{count(table.counts.inserted, 'row')} written",)
    if layer == "sink":
        return (f"{count(table.counts.published + table.counts.deleted, 'change')} delivered",)
    return (f"{number(table.counts.rows_in)} in", f"{number(table.counts.published)} published")


def _branches(table: TableFact, gates: Sequence[GateFact]) -> Iterable[Branch]:
    blocked = sum(gate.rows for gate in gates if gate.table == table.name and gate.verdict == "blocked")
    if blocked:
        yield _branch(blocked, "blocked")
    # a sink delivers deletes, too, and sets nothing aside
    for name in ASIDES if not TableName(table.name).is_sink else ():
        rows = getattr(table.counts, name)
        if rows:
            is_file = name == "quarantined" and TableName(table.name).is_bronze
            yield (
                Branch(count(rows, "file unreadable", "files unreadable"), True)
                if is_file
                else _branch(rows, name)
            )
    if table.late_kept:
        yield _branch(table.late_kept, "late, not counted")
    elif table.counts.late > 0:
        yield _branch(table.counts.late, "late, counted")
    if table.counts.ties:
        yield _branch(table.counts.ties, "keys tied" if table.counts.ties > 1 else "key tied")


def _branch(rows: int, what: str) -> Branch:
    """Fewer rows than before went on: they are no longer there."""
    return Branch(
        f"{rows:,} {what}" if rows > 0 else f"{-rows:,} no longer {what}", what in ALARMING and rows > 0
    )


def wrap(name: str) -> tuple[str, ...]:
    """A name on as many lines as it needs, broken after an underscore where there is one: never cut, so that
    no two read the same.
    """
    lines = [""]
    for part in re.findall(r"[^_]*_|[^_]+", name):
        if lines[-1] and room_of(lines[-1] + part) > WIDTH - 2 * PADDING:
            lines.append("")
        for letter in part:
            if room_of(lines[-1] + letter) > WIDTH - 2 * PADDING:
                lines.append("")
            lines[-1] += letter
    return tuple(lines)


def room_of(text: str) -> float:
    """About how wide a text is drawn, rather too much than too little."""
    return sum(LETTER * (0.55 if letter in NARROW else 1.45 if letter in WIDE else 1) for letter in text)
