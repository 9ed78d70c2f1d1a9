"""What is counted and found in quarantine tables, also in those of earlier versions."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import count_rules, find_rows, newest_rows
from spark_jobs.lake.selection import STATES, Selection
from tests.lake.quarantine_table import AT, OLD, bad, set_aside

ORDERS, ALL_OPEN = "silver.orders", Selection()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path), "shop")


def counts(lake: Lake, selection: Selection = ALL_OPEN) -> list[tuple[str, str, int]]:
    return [(count.rule, count.state, count.rows) for count in count_rules(lake, ORDERS, selection)]


def lines(lake: Lake, selection: Selection = ALL_OPEN, limit: int = 10) -> list[int]:
    return [row["line"] for row in newest_rows(lake, ORDERS, selection, limit)[0]]


def test_rows_are_counted_by_rule_and_state(lake: Lake) -> None:
    set_aside(
        lake,
        ORDERS,
        bad(1, "type bigint"),
        bad(2, "type bigint", "required|a", "required|b"),
        bad(3, "required", state="discarded"),
    )
    later = AT + timedelta(hours=1)
    set_aside(lake, ORDERS, bad(1, "type bigint", file="orders/b.json", file_id="b", first_seen_at=later))

    assert counts(lake) == [("type bigint", "open", 3), ("required", "open", 1)]
    assert counts(lake, Selection(states=STATES)) == [
        ("type bigint", "open", 3),
        ("required", "discarded", 1),
        ("required", "open", 1),
    ]
    [of_type, _] = count_rules(lake, ORDERS, Selection())
    assert (of_type.first_seen_at, of_type.newest_at, of_type.example_file) == (AT, later, "orders/b.json")


def test_only_the_rules_that_were_asked_for_are_counted(lake: Lake) -> None:
    set_aside(lake, ORDERS, bad(1, "type bigint", "required"), bad(2, "required"))

    assert counts(lake, Selection(rules=("type",))) == [("type bigint", "open", 1)]


def test_a_row_is_selected_by_rule_file_day_and_state_together(lake: Lake) -> None:
    yesterday = AT - timedelta(days=1)
    set_aside(
        lake,
        ORDERS,
        bad(1, "type int"),
        bad(2, "required"),
        bad(3, "type int", file="orders/b.json"),
        bad(4, "type int", first_seen_at=yesterday),
        bad(5, "type int", state="replayed"),
        bad(6, "required", "type int"),
    )

    assert lines(
        lake, Selection(rules=("type",), files=("*/a.json",), since=date(2026, 3, 1), until=date(2026, 3, 1))
    ) == [1, 6]
    assert lines(lake, Selection(until=date(2026, 2, 28))) == [4]
    assert lines(lake, Selection(states=("replayed",))) == [5]
    assert lines(lake, Selection(rules=("nothing",))) == []


def test_the_newest_rows_come_first_and_the_others_are_counted(lake: Lake) -> None:
    for hour in (2, 0, 3, 1):
        set_aside(
            lake,
            ORDERS,
            *(bad(hour * 10 + line, "required", first_seen_at=AT + timedelta(hours=hour)) for line in (2, 1)),
        )

    rows, total = newest_rows(lake, ORDERS, Selection(), 3)

    assert ([row["line"] for row in rows], total) == ([31, 32, 21], 8)


def test_an_older_table_holds_open_rows_that_were_seen_when_they_were_set_aside(lake: Lake) -> None:
    row = bad(1, "required")
    set_aside(lake, ORDERS, {name: row[name] for name in OLD.names if name in row}, schema=OLD)

    [[found], total] = newest_rows(lake, ORDERS, Selection(since=AT.date()), 5)

    assert (found["state"], found["first_seen_at"], found.get("attempts"), total) == ("open", AT, None, 1)
    assert counts(lake) == [("required", "open", 1)]
    assert counts(lake, Selection(states=("discarded",))) == []


def test_one_row_is_found_by_its_place(lake: Lake) -> None:
    set_aside(
        lake,
        ORDERS,
        bad(1, "required", element=1),
        bad(1, "required", element=2),
        bad(2, "required", element=1),
    )

    [found] = find_rows(lake, ORDERS, [("a", 1, 2), ("b", 2, 1)])

    assert (found["line"], found["element"], found["record"]) == (1, 2, '{"id": 1}')


def test_where_nothing_was_ever_set_aside_there_is_nothing(lake: Lake) -> None:
    assert (
        counts(lake),
        newest_rows(lake, ORDERS, Selection(), 5),
        find_rows(lake, ORDERS, [("a", 1, 0)]),
    ) == ([], ([], 0), [])
