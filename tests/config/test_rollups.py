"""Gold tables that are made from gold tables, and running totals: what can be made, and what cannot."""

import pytest

from tests.config.conftest import Workspace

HOURLY = """
  hours:
    from: silver.orders
    window: {size: 1 hour}
    group_by: [city]
    measures: {orders: count(*), cities: count(DISTINCT city), people: approx_count_distinct(customer_id), revenue: sum(amount)}
    where: order_id > 0
"""
ROLLUP = """
  rollup:
    from: gold.SOURCE
    window: WINDOW
    measures: {total: sum(revenue), _MORE_}
"""
MORE = "hours: count(*)"


def add(workspace: Workspace, window: str, source: str = "hours", more: str = MORE, keys: str = "") -> None:
    rollup = ROLLUP.replace("SOURCE", source).replace("WINDOW", window).replace("_MORE_", more)
    text = HOURLY + rollup + keys + SOURCES
    workspace.replace("\n  top:\n", f"{text}\n  top:\n")


SOURCES = """
  quarters: {from: silver.orders, window: {size: 15 minutes}, measures: {revenue: sum(amount)}}
  sliding: {from: silver.orders, window: {size: 1 hour, slide: 30 minutes}, measures: {revenue: sum(amount)}}
  visits: {from: silver.orders, window: {gap: 1 hour}, measures: {revenue: sum(amount)}}
  days: {from: silver.orders, window: {calendar: day, zone: Europe/Berlin}, measures: {revenue: sum(amount)}}
  weeks: {from: silver.orders, window: {calendar: week}, measures: {revenue: sum(amount)}}
  by_city: {from: silver.orders, group_by: [city, ordered_at], measures: {revenue: sum(amount)}}
"""
ACCEPTED = {
    "days of hours": ("{size: 1 day}", "hours"),
    "sliding ones": ("{size: 6 hours, slide: 2 hours}", "hours"),
    "days of a zone": ("{calendar: day, zone: Europe/Berlin}", "hours"),
    "years of a zone": ("{calendar: year, zone: America/New_York}", "hours"),
    "half hours of a zone": ("{calendar: day, zone: Asia/Kolkata}", "quarters"),
    "months of days": ("{calendar: month, zone: Europe/Berlin}", "days"),
    "sessions of hours": ("{gap: 3 hours}", "hours"),
    "another column": ("{size: 1 day, column: ordered_at}", "by_city"),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_windows_that_lie_within_are_put_together(workspace: Workspace, case: str) -> None:
    add(workspace, *ACCEPTED[case])

    assert [str(problem) for problem in workspace.problems()] == []


REFUSED = {
    "hours into half hours": ("{size: 30 minutes}", "hours", "bounds of its windows of 1 hour"),
    "hours into ninety minutes": ("{size: 90 minutes}", "hours", "bounds of its windows of 1 hour"),
    "hours into steps of half hours": (
        "{size: 2 hours, slide: 30 minutes}",
        "hours",
        "windows of 30 minutes",
    ),
    "hours of India": ("{calendar: day, zone: Asia/Kolkata}", "hours", "midnights of Asia/Kolkata"),
    "a quarter past": ("{calendar: day, zone: Asia/Kathmandu}", "hours", "midnights of Asia/Kathmandu"),
    "sliding ones": ("{size: 1 day}", "sliding", "counts in several"),
    "sessions": ("{size: 1 day}", "visits", "begin and end at any time"),
    "weeks into months": ("{calendar: month}", "weeks", "does not lie within one month"),
    "days of another zone": ("{calendar: month}", "days", "one of Europe/Berlin, not of UTC"),
    "a day of a calendar into 24 hours": ("{size: 1 day}", "days", "does not lie within windows of 1 day"),
    "no windows": ("{size: 1 day}", "by_city", "has no column"),
    "an end": ("{size: 1 day, column: window_end}", "hours", "lies in the one behind"),
    "no such table": ("{size: 1 day}", "ours", "no gold table"),
    "itself": ("{size: 1 day}", "rollup", "no gold table"),
    "SQL": ("{size: 1 day}", "top", "made by 'sql'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_be_wrong_is_refused(workspace: Workspace, case: str) -> None:
    window, source, message = REFUSED[case]
    add(workspace, window, source)

    problem = workspace.problem()

    assert message in problem.message
    assert problem.hint


@pytest.mark.parametrize("name", ["cities", "people"])
def test_counts_of_different_values_are_not_added(workspace: Workspace, name: str) -> None:
    add(workspace, "{size: 1 day}", more=f"wrong: sum({name}), most: max({name})")

    problem = workspace.problem()

    assert f"{name!r} counts different values" in problem.message
    assert "from the silver table" in problem.hint


@pytest.mark.parametrize(
    ("more", "keys"),
    [("wrong: max(_revision)", ""), ("wrong: max(_processed_at)", ""), (MORE, "    where: _revision = 0\n")],
    ids=["measure", "time", "where"],
)
def test_what_tells_of_runs_is_no_part_of_it(workspace: Workspace, more: str, keys: str) -> None:
    add(workspace, "{size: 1 day}", more=more, keys=keys)
    workspace.replace("\n\n  rollup:", "\n    watermark: 1 hour\n\n  rollup:")

    assert "there is no column '_" in workspace.problem().message


@pytest.mark.parametrize(
    "keys", ["    emit: update\n", "    emit: append\n", "    watermark: 1 hour\n"], ids=str.strip
)
def test_it_is_computed_as_a_whole(workspace: Workspace, keys: str) -> None:
    add(workspace, "{size: 1 day}", keys=keys)

    assert "computed as a whole" in workspace.problem().message


def test_tables_made_from_one_another_are_refused(workspace: Workspace) -> None:
    ring = """
  one: {from: gold.two, window: {size: 1 day}, measures: {n: count(*)}}
  two: {from: gold.one, window: {size: 1 day}, measures: {n: count(*)}}
"""
    workspace.replace("\n  top:\n", f"{ring}\n  top:\n")

    assert any("ring" in problem.message for problem in workspace.problems())


TOTALS = {
    "a sum": ("{a: sum(orders), b: max(revenue), c: count(*), d: sum(_row_count)}", None),
    "no aggregate": ("{a: revenue}", "is not an aggregate"),
    "more than one": ("{a: sum(revenue) / sum(orders)}", "is not one aggregate"),
    "of an aggregate": ("{a: sum(max(revenue))}", "is an aggregate of an aggregate"),
    "different values": ("{a: count(DISTINCT orders)}", "counts different values"),
    "a sum of those": ("{a: sum(cities)}", "'cities' counts different values"),
    "a column of silver": ("{a: sum(amount)}", "no column 'amount'"),
    "the name of a measure": ("{orders: sum(orders)}", "already a measure"),
}


@pytest.mark.parametrize("case", TOTALS)
def test_running_totals_are_one_aggregate_of_the_measures(workspace: Workspace, case: str) -> None:
    running, message = TOTALS[case]
    text = HOURLY.replace("    where: order_id > 0\n", f"    running: {running}\n")
    workspace.replace("\n  top:\n", f"{text}\n  top:\n")

    messages = [problem.message for problem in workspace.problems()]

    assert (messages == []) if message is None else any(message in found for found in messages)


@pytest.mark.parametrize(
    ("window", "keys", "message"),
    [
        ("    window: {size: 1 hour, slide: 30 minutes}\n", "", "sliding windows"),
        ("", "", "without a window"),
        ("    window: {size: 1 hour}\n", "    emit: update\n", "computed as a whole"),
        ("    window: {size: 1 hour}\n", "    watermark: 1 hour\n", "computed as a whole"),
    ],
)
def test_running_totals_need_windows_in_an_order(
    workspace: Workspace, window: str, keys: str, message: str
) -> None:
    text = HOURLY.replace("    window: {size: 1 hour}\n", f"{window}{keys}    running: {{a: sum(orders)}}\n")
    workspace.replace("\n  top:\n", f"{text}\n  top:\n")

    assert message in workspace.problem().message


def test_what_is_made_of_sensitive_measures_is_sensitive(workspace: Workspace) -> None:
    from spark_jobs.config.loading import load_project
    from spark_jobs.config.sensitive import sensitive_columns

    amount = 'amount: {type: "decimal(12,2)", from: payment.amount'
    workspace.replace(f"{amount}}}", f"{amount}, sensitive: true}}")
    text = HOURLY.replace(
        "    where: order_id > 0\n", "    running: {so_far: sum(revenue), n: sum(orders)}\n"
    )
    rollup = ROLLUP.replace("SOURCE", "hours").replace("WINDOW", "{size: 1 day}").replace("_MORE_", MORE)
    workspace.replace("\n  top:\n", f"{text}{rollup}\n  top:\n")
    shop = load_project(workspace.root, {}).pipelines["shop"]

    assert set(sensitive_columns(shop, "gold.hours")) == {"revenue", "so_far"}
    assert set(sensitive_columns(shop, "gold.rollup")) == {"total"}
