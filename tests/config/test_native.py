"""Native stateful tables in pipeline files: what is refused beyond the matrix of modes, their columns, and
what of them is sensitive.
"""

from pathlib import Path

import pytest

from spark_jobs.config import load_project
from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.columns import aggregate_columns
from spark_jobs.config.graph import order_tables
from spark_jobs.config.sensitive import sensitive_columns
from tests.conftest import Workshop

SILVER = """
pipeline: feed
sources: {clicks: {format: json, path: clicks}, orders: {format: json, path: orders}}
silver:
  clicks: {from: clicks, columns: {id: string, user: {type: bigint, sensitive: true}, tags: array<string>, at: timestamp}, event_time: at}
  orders: {from: orders, columns: {id: string, buyer: bigint, at: timestamp}, event_time: at}
  timeless: {from: orders, columns: {id: string}}
gold:
"""
SIDES = "left: {from: silver.clicks, watermark: 1 hour}, right: {from: silver.orders, watermark: 1 hour}"
GOOD = (
    f"pairs: {{join: {{{SIDES}, on: {{user: buyer}}, within: {{after: 1 hour}}, take: {{who: left.user,"
    " order: right.id}}}"
)
HOOK = "class Half:\n    def init(self, handle): ...\n"
STATE = "key: user, columns: {user: bigint}, watermark: 1 hour"
REFUSED = {
    GOOD.replace("user: buyer", "user: id"): "the columns 'user' (bigint) and 'id' (string) cannot be equal",
    GOOD.replace("left.user", "middle.user"): "there is no side of the join called 'middle'",
    GOOD.replace("right.id", "right.price"): "there is no right column 'price'",
    GOOD.replace("silver.orders", "silver.clicks"): "both sides of the join are silver.clicks: every row would meet itself",
    GOOD.replace("after: 1 hour", ""): "'within' says nothing",
    GOOD.replace("silver.orders", "other.silver.orders"): "that one moves without our lease",
    "one: {from: silver.clicks, dedup: {on: tags, within: 1 hour}}": "the column 'tags' is array<string>, which cannot be compared",
    "one: {from: silver.timeless, dedup: {on: id, within: 1 hour}}": "with silver.timeless, which has no event time",
    "one: {from: silver.clicks, dedup: {on: id, within: 1 hour}, measures: {n: count(*)}}": "but 'measures' and 'dedup' are given",
    "one: {from: silver.clicks, dedup: {on: id, within: 1 hour}, watermark: 1 hour}": "'watermark' is incompatible with 'dedup'",
    f"one: {{from: silver.clicks, state: hooks/half.py:Half, {STATE}}}": "the class Half has no handleInputRows",
    f"one: {{from: silver.clicks, state: hooks/half.py:Whole, {STATE}}}": "there is no class in conf/hooks/half.py called 'Whole'",
    "one: {from: silver.clicks, state: hooks/half.py:Half, watermark: 1 hour}": "'key' is missing: a table made by 'state' needs it",
    "one: {from: silver.clicks, window: {gap: 1 hour, size: 1 hour}, measures: {n: count(*)}}": "'size' and 'gap' are given",
    "one: {from: silver.clicks, window: {gap: 1 hour, slide: 1 hour}, measures: {n: count(*)}}": "'slide' is incompatible with 'gap'",
    "one: {sql: sql/one.sql, key: id}": "'key' is incompatible with 'sql': it belongs to 'state'",
}  # fmt: skip


def write(workshop: Workshop, table: str) -> Path:
    workshop.write("conf/pipelines/feed.yml", f"{SILVER}  {table}\n")
    workshop.write("conf/hooks/half.py", HOOK)
    workshop.write("conf/sql/one.sql", "SELECT id FROM silver.clicks")
    return workshop.root


@pytest.mark.parametrize(("table", "message"), REFUSED.items(), ids=list(REFUSED.values()))
def test_a_native_table_that_cannot_work_is_refused(
    idle_workshop: Workshop, table: str, message: str
) -> None:
    problems = check_folder(write(idle_workshop, table), {})

    assert [problem for problem in problems if message in problem.message and problem.hint], problems


def test_the_columns_of_a_join_are_known_and_sensitive_as_those_that_they_are_taken_from(
    idle_workshop: Workshop,
) -> None:
    project = load_project(write(idle_workshop, GOOD), {})
    pipeline = project.pipelines["feed"]

    assert check_folder(idle_workshop.root, {}) == []
    places = {
        "_left_file_id": "string",
        "_left_line": "bigint",
        "_right_file_id": "string",
        "_right_line": "bigint",
    }
    assert aggregate_columns(pipeline, pipeline.gold["pairs"]) == {
        "who": "bigint",
        "order": "string",
        **places,
        "_processed_at": "timestamp",
    }
    assert sensitive_columns(pipeline, "gold.pairs", project.conf) == {"who"}
    assert order_tables(pipeline, project.conf)["gold.pairs"] == ("silver.clicks", "silver.orders")
    assert [name for name in pipeline.silver if pipeline.is_watermarked(name)] == ["clicks", "orders"]
