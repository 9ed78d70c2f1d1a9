"""The geometry of flow and trends."""

from datetime import UTC, datetime

import pytest

from spark_jobs.lake.counts import Counts
from spark_jobs.report.facts import Point, TableFact, TableState
from spark_jobs.report.flow import Flow, draw_tall, draw_wide
from spark_jobs.report.flow_nodes import make_nodes
from spark_jobs.report.render import HEIGHT, TICK, draw_rule_trend, draw_table_trend
from spark_jobs.report.source_facts import SourceFact

AT = datetime(2026, 3, 1, tzinfo=UTC)


def table(name: str, *inputs: str, state: TableState = TableState.DONE, **counts: int) -> TableFact:
    return TableFact(
        name,
        state,
        Counts(**counts),
        batches=1,
        seconds=1.0,
        late_kept=counts.get("late", 0),
        inputs=inputs,
        version=1,
    )


def source(name: str, files: int | None = 1) -> SourceFact:
    return SourceFact(name, name, {"taken": 1}, files)


def point(rows: int | None, bad: int | None, is_met: bool | None = None) -> Point:
    return Point("run", AT, rows, bad, is_met)


SHOP = make_nodes(
    [source("members"), source("orders")],
    [
        table("bronze.members", rows_in=3, inserted=3),
        table("bronze.orders", rows_in=100, inserted=100),
        table("dimension.members", "bronze.members", rows_in=3, inserted=3),
        table(
            "silver.orders", "bronze.orders", "dimension.members", rows_in=100, inserted=90, quarantined=10
        ),
        table("silver.lines", "bronze.orders", state=TableState.NOT_IN_RUN),
        table("gold.revenue", "silver.orders", rows_in=90, inserted=5, late=2),
        table("gold.of_revenue", "gold.revenue", rows_in=5, inserted=5),
    ],
    [],
)


def test_sinks_stand_last_and_say_what_they_delivered() -> None:
    sent = table("sink.orders", "silver.orders", rows_in=9, inserted=3, updated=1, deleted=2, superseded=3)
    boxes = draw_wide(
        make_nodes(
            [],
            [table("silver.orders", rows_in=9, inserted=9), table("gold.revenue", "silver.orders"), sent],
            [],
        )
    ).boxes

    [sink] = [box for box in boxes if box.node.layer == "sink"]

    assert (sink.node.lines, sink.node.branches) == (("6 changes delivered",), ())
    assert sink.x > max(box.x for box in boxes if box is not sink)


@pytest.mark.parametrize("flow", [draw_wide(SHOP), draw_tall(SHOP)], ids=lambda flow: flow.kind)
def test_boxes_stand_inside_the_picture_and_none_covers_another(flow: Flow) -> None:
    places = [(box.x, box.y, box.x + box.width, box.y + box.node.full_height) for box in flow.boxes]

    assert len(places) == 9
    assert all(
        left >= 0 and top >= 0 and right <= flow.width and bottom <= flow.height
        for left, top, right, bottom in places
    )
    covered = [
        (a, b)
        for a in places
        for b in places
        if a < b and a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    assert covered == []


def test_every_input_is_a_line_and_those_at_rest_are_drawn_so() -> None:
    flow = draw_wide(SHOP)

    assert len(flow.edges) == 2 + 1 + 2 + 1 + 1 + 1
    assert sum(edge.is_still for edge in flow.edges) == 1


def test_what_left_the_flow_branches_off_and_is_told_in_words() -> None:
    branches = {
        box.node.name: [(branch.text, branch.is_alarming) for branch in box.node.branches]
        for box in draw_wide(SHOP).boxes
    }

    assert (branches["silver.orders"], branches["gold.revenue"]) == (
        [("10 quarantined", True)],
        [("2 late, not counted", True)],
    )
    assert "silver.orders: 100 in, 90 published, 10 quarantined" in draw_tall(SHOP).description
    assert "silver.lines" not in draw_tall(SHOP).description


def test_a_pipeline_without_dimensions_has_no_empty_column() -> None:
    nodes = make_nodes(
        [source("orders", None)], [table("bronze.orders"), table("silver.orders", "bronze.orders")], []
    )

    assert [heading.text for heading in draw_wide(nodes).headings] == ["Landed", "Bronze", "Silver"]


def test_bars_of_a_rule_show_the_share_that_failed() -> None:
    trend = draw_rule_trend(
        [point(100, 0, True), point(100, 5, False), point(100, 10, False), point(None, None, True)]
    )

    assert trend is not None
    assert [(bar.height, bar.is_bad) for bar in trend.bars] == [
        (TICK, False),
        (HEIGHT / 2, True),
        (HEIGHT, True),
        (TICK, False),
    ]
    assert trend.description == "4 runs, oldest first: rows failed in 2 of 4"


def test_bars_of_a_table_never_leave_their_picture() -> None:
    trend = draw_table_trend([point(0, 0), point(1_000_000, 1), point(5, 1_000_000)])

    assert trend is not None
    assert all(bar.y >= 0 and bar.y + bar.height <= HEIGHT + 0.11 for bar in trend.bars)
    assert trend.description == "Rows published in 3 runs, oldest first: from 0 to 1,000,000"


def test_one_run_is_no_trend() -> None:
    assert (draw_rule_trend([point(1, 0, True)]), draw_table_trend([])) == (None, None)
