"""Pipelines that read tables of others, and are started by them: what may be named, what it is known to hold,
and what is refused.
"""

from pathlib import Path

import pytest

from spark_jobs.config import ConfigError, load_pipeline, load_project
from spark_jobs.config.checks.project import check_pipeline
from spark_jobs.config.definition import definition_parts
from spark_jobs.config.graph import order_tables, pipelines_read, tables_named_in
from spark_jobs.config.pipeline import TableSchedule
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.config.sql_views import with_views
from tests.config.conftest import Workspace

BOARD = "conf/pipelines/board.yml"
BOARD_YML = """\
pipeline: board
schedule: {on: [shop.silver.orders, shop.gold.top]}
gold:
  daily:
    from: shop.silver.orders
    window: {size: 1 day}
    group_by: [city]
    measures: {order_count: count(*), revenue: sum(amount)}
  by_city:
    sql: sql/by_city.sql
  both:
    python: hooks/board.py:both
    inputs: [shop.dimension.customers, gold.daily]
"""
BY_CITY = """\
SELECT shop.silver.orders.city, sum(orders.amount) AS revenue, max(d.revenue) AS best
FROM shop.silver.orders
JOIN gold.daily d ON d.city = silver.orders.city
GROUP BY orders.city
"""


@pytest.fixture
def board(workspace: Workspace) -> Workspace:
    workspace.write(BOARD, BOARD_YML)
    workspace.write("conf/sql/by_city.sql", BY_CITY)
    workspace.write("conf/hooks/board.py", "def both(customers, daily):\n    return daily\n")
    return workspace


def test_a_pipeline_may_consist_of_gold_tables_on_anothers(board: Workspace) -> None:
    assert board.problems() == []
    project = load_project(board.root, {}, only="board")
    assert list(project.pipelines) == ["board"]
    assert check_pipeline(project.pipelines["board"], project.conf, {}) == []
    assert order_tables(project.pipelines["board"], project.conf) == {
        "gold.daily": ("shop.silver.orders",),
        "gold.by_city": ("shop.silver.orders", "gold.daily"),
        "gold.both": ("shop.dimension.customers", "gold.daily"),
    }
    assert pipelines_read(project.pipelines["board"], project.conf) == ["shop"]


def test_a_pipeline_without_any_table_is_refused(workspace: Workspace) -> None:
    workspace.write("conf/pipelines/empty.yml", "pipeline: empty\n")

    workspace.assert_refused(
        "pipeline: empty",
        {"pipeline": "empty"},
        "has no table",
        "add sources, or gold",
        "conf/pipelines/empty.yml",
    )


def test_the_schedule_is_a_cron_expression_or_tables_of_others(board: Workspace) -> None:
    loaded = load_pipeline(board.root / BOARD, board.root)
    shop = load_pipeline(board.root / "conf/pipelines/shop.yml", board.root)

    assert loaded.schedule == TableSchedule(on=["shop.silver.orders", "shop.gold.top"])
    assert shop.schedule == "0 * * * *"


@pytest.mark.parametrize(
    ("old", "new", "value", "message", "hint"),
    [
        (
            "from: shop.silver.orders",
            "from: shop.silver.ordes",
            "shop.silver.ordes",
            "no silver table",
            "did you mean 'shop.silver.orders'?",
        ),
        (
            "from: shop.silver.orders",
            "from: shp.silver.orders",
            "shp.silver.orders",
            "no silver table",
            "did you mean 'shop.silver.orders'?",
        ),
        (
            "from: shop.silver.orders",
            "from: shop.gold.top",
            "shop.gold.top",
            "no silver table",
            "allowed: shop.silver.orders",
        ),
        (
            "inputs: [shop.dimension.customers",
            "inputs: [shop.bronze.customers",
            "shop.bronze.customers",
            "no table to read",
            "customers'?",
        ),
        ("group_by: [city]", "group_by: [town]", "town", "there is no column 'town'", "city"),
        ("sum(amount)", "sum(amont)", "sum(amont)", "no column 'amont'", "did you mean 'amount'"),
        (
            "[shop.silver.orders, shop",
            "[shop.silver.order, shop",
            "shop.silver.order",
            "no table of another",
            "'shop.silver.orders'?",
        ),
        (
            "[shop.silver.orders, shop",
            "[silver.orders, shop",
            "silver.orders",
            "is not a table of another",
            "<pipeline>.<layer>.<table>",
        ),
        (
            "[shop.silver.orders, shop",
            "[board.gold.daily, shop",
            "board.gold.daily",
            "of its own",
            "name a table of another pipeline",
        ),
        ("{on: [", "{onn: [", None, "the key 'on", ""),
        ("{on: [shop.silver.orders, shop.gold.top]}", '"* *"', "* *", "has 2 fields", "write five"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(
    board: Workspace, old: str, new: str, value: object, message: str, hint: str
) -> None:
    board.replace(old, new, BOARD)

    found = [problem for problem in board.problems() if value is None or problem.value == value]

    assert found, "\n".join(map(str, board.problems()))
    line = (board.root / BOARD).read_text(encoding="utf-8").splitlines()[found[0].line - 1]
    assert new.split("{")[-1].strip('["') in line
    assert message in found[0].message
    assert hint in found[0].hint


def test_sql_over_anothers_tables_is_checked_to_the_column(board: Workspace) -> None:
    board.replace("sum(orders.amount)", "sum(orders.amont)", "conf/sql/by_city.sql")

    problem = board.problem()

    assert (problem.file, problem.line) == ("conf/sql/by_city.sql", 1)
    assert problem.message == "there is no column 'amont' in shop.silver.orders, gold.daily"


def test_a_misspelt_pipeline_in_sql_is_named_with_the_nearest(board: Workspace) -> None:
    board.replace("FROM shop.silver.orders", "FROM shp.silver.orders", "conf/sql/by_city.sql")

    [problem] = [problem for problem in board.problems() if problem.value == "shp.silver.orders"]

    assert (problem.file, problem.line) == ("conf/sql/by_city.sql", 2)
    assert "did you mean 'shop.silver.orders'?" in problem.hint


def test_pipelines_that_read_one_another_are_refused(board: Workspace) -> None:
    board.replace("inputs: [silver.orders, gold.top]", "inputs: [silver.orders, board.gold.daily]")

    problem = board.problem()

    assert "the pipelines form a ring" in problem.message
    assert "board -> shop -> board" in problem.message or "shop -> board -> shop" in problem.message


def test_a_broken_pipeline_is_one_problem_and_not_one_of_its_readers(board: Workspace) -> None:
    board.replace("history: scd2", "history: scd3")

    assert board.problem().file == "conf/pipelines/shop.yml"
    with pytest.raises(ConfigError, match=r"shop\.yml:17: dimensions\.customers\.history"):
        load_project(board.root, {}, only="board")


def test_a_watermark_needs_what_the_other_pipeline_keeps(board: Workspace) -> None:
    board.replace("window: {size: 1 day}", "window: {size: 1 day}\n    watermark: 1 day", BOARD)

    board.assert_refused(
        "watermark",
        "1 day",
        "does not keep what its feed had seen",
        "give a gold table of that pipeline",
        BOARD,
    )

    board.replace("slide: 30 minutes}", "slide: 30 minutes}\n    watermark: 2 hours")
    assert board.problems() == []


def test_a_sensitive_column_stays_so_in_the_tables_of_others(board: Workspace) -> None:
    board.replace("      city: string\n", "      city: {type: string, sensitive: true}\n")
    project = load_project(board.root, {}, only="board")

    assert "city" in sensitive_columns(project.pipelines["board"], "gold.daily", project.conf)
    assert "order_count" not in sensitive_columns(project.pipelines["board"], "gold.daily", project.conf)
    assert "revenue" in sensitive_columns(project.pipelines["board"], "gold.by_city", project.conf)
    assert "anything" in sensitive_columns(project.pipelines["board"], "gold.both", project.conf)


def test_what_concerns_airflow_alone_is_no_part_of_a_tables_definition(board: Workspace) -> None:
    def parts() -> list[dict[str, object]]:
        pipeline = load_project(board.root, {}).pipelines["board"]
        return [
            definition_parts(pipeline, table, board.root / "conf")
            for table in order_tables(pipeline, board.root / "conf")
        ]

    before = parts()
    more = (
        "tags: [a]\ndoc: Text.\ntimeout: 1 hour\ndeadline: 1 hour\nretries: 0\nwhen_blocked:"
        " fail\ndecide_within: 2 days\nowner: me\n"
    )
    board.replace(
        "schedule: {on: [shop.silver.orders, shop.gold.top]}\n",
        f"{more}notify: {{log: false, email: a@b.example}}\n",
        BOARD,
    )

    assert board.problems() == []
    assert parts() == before


def test_another_event_time_of_the_other_table_is_another_definition(board: Workspace) -> None:
    board.replace("event_time: ordered_at", "event_time: paid_at")
    pipeline = load_project(board.root, {}).pipelines["board"]

    assert (
        definition_parts(pipeline, "gold.daily", board.root / "conf")["(event time of its table)"]
        == "paid_at"
    )


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("retries: 11", "retries", "11 is not allowed here"),
        ("timeout: soon", "timeout", "'soon' is not a duration"),
        ("when_blocked: wait", "when_blocked", "'wait' is not allowed here"),
        ("tags: ['']", "tags.0", "'' is not allowed here"),
        ("notify: {email: nobody}", "notify.email.0", "'nobody' does not have the right form"),
        ("notify: {webhook: 'a b'}", "notify.webhook", "'a b' does not have the right form"),
        ("notify: {mail: x}", "notify.mail", "the key 'mail' is unknown"),
    ],
)
def test_keys_for_airflow_are_strict(board: Workspace, line: str, place: str, message: str) -> None:
    board.replace("pipeline: board\n", f"pipeline: board\n{line}\n", BOARD)

    problem = board.problem()

    assert (problem.line, problem.where) == (2, place)
    assert message in problem.message


def test_words_of_three_parts_are_tables_only_where_there_is_such_a_pipeline() -> None:
    sql = (
        "SELECT o.gold.price, `shop`.silver.x.y FROM silver.orders o JOIN Shop . Silver . Lines --"
        " shop.silver.no\n"
    )

    assert tables_named_in(sql, ["shop"]) == ["silver.orders", "shop.silver.lines"]
    assert tables_named_in(sql) == ["silver.orders"]


def test_views_take_the_place_of_anothers_tables_wherever_a_column_names_them() -> None:
    sql = (
        "SELECT shop.silver.orders.a, silver.orders.b.c, orders.d, e FROM shop.silver.orders WHERE"
        " shop.silver.orders.f > 0"
    )

    assert with_views(sql, {"shop.silver.orders": "v"}) == "SELECT v.a, v.b.c, v.d, e FROM v WHERE v.f > 0"


def test_loading_alone_needs_no_other_file(board: Workspace, tmp_path: Path) -> None:
    (board.root / "conf/pipelines/shop.yml").unlink()

    assert list(load_pipeline(board.root / BOARD, board.root).gold) == ["daily", "by_city", "both"]
