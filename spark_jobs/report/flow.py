"""The flow of a run's rows as a picture: boxes for files and tables, lines between them, and below each box
what branched off.

Only geometry is made here, twice: from left to right for wide pages, from top to bottom for narrow ones. The
template draws it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark_jobs.config.names import name_at_home, other_pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.report.facts import GateFact, SourceFact, TableFact, TableState
from spark_jobs.report.text import count, number

LAYERS = {
    "landed": "Landed",
    "bronze": "Bronze",
    "dimension": "Dimensions",
    "silver": "Silver",
    "other": "Other pipelines",
    "gold": "Gold",
}
LAYERS |= {"sink": "Sinks"}
WIDTH, GAP, HEAD = 176, 52, 30
TITLE_HEIGHT, LINE_HEIGHT, SPACE = 32, 17, 26
TALL_WIDTH = 340
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


@dataclass(frozen=True)
class Box:
    node: Node
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.y + self.node.height / 2


@dataclass(frozen=True)
class Edge:
    path: str
    thickness: float
    is_still: bool


@dataclass(frozen=True)
class Heading:
    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Flow:
    kind: str
    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    headings: tuple[Heading, ...]
    description: str


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


def draw_wide(nodes: Sequence[Node]) -> Flow:
    """A column per layer. A box stands no higher than the first box that it is made from, so that lines
    mostly go straight.
    """
    layers = [layer for layer in LAYERS if any(node.layer == layer for node in nodes)]
    boxes: dict[str, Box] = {}
    for place, layer in enumerate(layers):
        free: float = HEAD
        for node in (node for node in nodes if node.layer == layer):
            above = [
                boxes[name].y
                for name in node.inputs[:1]
                if name in boxes and layer in ("bronze", "dimension")
            ]
            top = max([free, *above])
            boxes[node.name] = Box(node, place * (WIDTH + GAP), top, WIDTH)
            free = top + node.full_height + SPACE
    height = max((box.y + box.node.full_height for box in boxes.values()), default=0) + 8
    width = len(layers) * (WIDTH + GAP) - GAP + (GAP / 2 if _has_loops(boxes.values()) else 0)
    headings = tuple(Heading(LAYERS[layer], place * (WIDTH + GAP), 14) for place, layer in enumerate(layers))
    edges = tuple(
        _edge(boxes[name], box) for box in boxes.values() for name in box.node.inputs if name in boxes
    )
    return Flow("wide", width, height, tuple(boxes.values()), edges, headings, describe(nodes))


def draw_tall(nodes: Sequence[Node]) -> Flow:
    """A box below the other, by layers, with an arrow from layer to layer: for a phone."""
    boxes: list[Box] = []
    edges: list[Edge] = []
    headings: list[Heading] = []
    top: float = 0
    for layer in (layer for layer in LAYERS if any(node.layer == layer for node in nodes)):
        if boxes:
            edges.append(Edge(f"M {TALL_WIDTH - 20} {top - 14} V {top + 14}", 1.5, is_still=False))
        headings.append(Heading(LAYERS[layer], 0, top + 14))
        top += HEAD - 6
        for node in (node for node in nodes if node.layer == layer):
            boxes.append(Box(node, 0, top, TALL_WIDTH))
            top += node.full_height + SPACE / 2
        top += SPACE / 2
    return Flow("tall", TALL_WIDTH, top, tuple(boxes), tuple(edges), tuple(headings), describe(nodes))


def describe(nodes: Iterable[Node]) -> str:
    """The picture in words, for those who do not see it."""
    said = [
        f"{node.name}: {', '.join([*node.lines, *(branch.text for branch in node.branches)])}"
        for node in nodes
        if not node.is_still
    ]
    return ". ".join(said) or "No table had anything to do."


def _source_node(source: SourceFact) -> Node:
    not_taken = source.verdicts.get("refused", 0) + source.verdicts.get("repeated", 0)
    branches = (_branch(not_taken, "not taken"),) if not_taken else ()
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
    held = sum(gate.rows for gate in gates if gate.table == table.name and gate.verdict == "blocked")
    if held:
        yield _branch(held, "blocked")
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


def _edge(start: Box, end: Box) -> Edge:
    thickness = round(1.2 + min(4.0, math.log10(1 + max(0, end.node.rows)) * 0.6), 1)
    x, y = start.x + start.width, start.middle
    if end.x <= start.x:  # gold from gold: around the right side
        far = x + GAP / 2
        path = f"M {x} {y} C {far} {y} {far} {end.middle} {x} {end.middle}"
    else:
        bend = end.x - GAP
        half = end.x - GAP / 2
        path = f"M {x} {y} H {bend} C {half} {y} {half} {end.middle} {end.x} {end.middle}"
    return Edge(path, thickness, start.node.is_still or end.node.is_still)


def _has_loops(boxes: Iterable[Box]) -> bool:
    known = list(boxes)
    layer_of = {box.node.name: box.node.layer for box in known}
    return any(layer_of.get(name) == box.node.layer for box in known for name in box.node.inputs)


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
