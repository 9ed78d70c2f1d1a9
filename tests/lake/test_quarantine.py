"""What is counted and found in quarantine tables, also in those of earlier versions."""

from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake import quarantine
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import (
    count_open,
    count_reasons,
    count_rules,
    find_rows,
    newest_rows,
    sample_rows,
)
from spark_jobs.lake.scan import read_where
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


REASON = pa.struct([("rule", pa.string()), ("column", pa.string()), ("value", pa.string())])
SCHEMA = pa.schema(
    [
        ("reasons", pa.list_(REASON)),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("run_id", pa.string()),
        ("state", pa.string()),
    ]
)


def write_rows(path: Path, count: int, run_id: str, *names: str, state: str = "open") -> None:
    why = [{"rule": name, "column": "x", "value": f"v{name}"} for name in names]
    rows = [
        {"reasons": why, "file": "a", "line": line, "run_id": run_id, "state": state}
        for line in range(1, count + 1)
    ]
    write_deltalake(path, pa.Table.from_pylist(rows, schema=SCHEMA), mode="append")


def test_a_row_counts_for_each_of_its_reasons_and_only_while_it_is_open(tmp_path: Path) -> None:
    write_rows(tmp_path, 3, "run 1", "a", "b")
    write_rows(tmp_path, 2, "run 2", "b")
    write_rows(tmp_path, 9, "run 2", "b", state="discarded")

    assert count_reasons(str(tmp_path)) == {("a", "x"): 3, ("b", "x"): 5}
    assert count_reasons(str(tmp_path), ["run 2"]) == {("b", "x"): 2}
    assert count_open(str(tmp_path)) == 5


def test_samples_are_few_for_each_reason(tmp_path: Path) -> None:
    write_rows(tmp_path, 50, "run 1", "a")
    write_rows(tmp_path, 1, "run 1", "b")

    found = sample_rows(str(tmp_path), [("a", "x"), ("b", "x"), ("c", "x")], each=2)

    assert {reason: len(rows) for reason, rows in found.items()} == {("a", "x"): 2, ("b", "x"): 1}
    assert {row.value for row in found["a", "x"]} == {"va"}


def test_values_that_stand_as_rules_do_not_make_the_count_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarantine, "REASONS_KEPT", 3)
    write_rows(tmp_path, 1, "run", *(f"rule {number}" for number in range(20)))

    assert len(count_reasons(str(tmp_path))) == 3


def test_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")

    assert (count_open(nowhere), count_reasons(nowhere), sample_rows(nowhere, [("a", "x")], 1)) == (0, {}, {})
    assert read_where(nowhere, ["x"]) == []


def test_a_column_that_a_table_lacks_is_none_and_rules_nothing_out(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"x": [1, 2]}))

    assert read_where(str(tmp_path), ["x", "later"], {"later": ["a"], "x": [2]}) == [{"x": 2, "later": None}]
    assert read_where(str(tmp_path), ["later"]) == []
