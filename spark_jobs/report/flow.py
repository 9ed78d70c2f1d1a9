"""The flow of a run's rows as a picture: boxes for files and tables, lines between them, and below each box
what branched off.

Only geometry is made here, twice: from left to right for wide pages, from top to bottom for narrow ones. The
template draws it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark_jobs.report.flow_nodes import GAP, HEAD, SPACE, WIDTH, Node

LAYERS = {
    "landed": "Landed",
    "bronze": "Bronze",
    "dimension": "Dimensions",
    "silver": "Silver",
    "other": "Other pipelines",
    "gold": "Gold",
}
LAYERS |= {"sink": "Sinks"}
TALL_WIDTH = 340


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
