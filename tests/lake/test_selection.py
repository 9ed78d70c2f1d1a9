"""Which rows a selection means, and that it means the same after it was written down."""

import json
import re
from datetime import UTC, date, datetime

import pytest

from spark_jobs.lake.selection import Selection


def test_a_rule_is_named_whole_or_by_its_first_words() -> None:
    selection = Selection(rules=("type", "amount_in_range", "member of"))

    asked = [
        "type bigint",
        "type",
        "typed",
        "amount_in_range",
        "amount_in_range_2",
        "member of customers",
        "required",
        None,
    ]
    assert [selection.matches_rule(rule) for rule in asked] == [
        True,
        True,
        False,
        True,
        False,
        True,
        False,
        False,
    ]
    assert Selection().matches_rule("anything")


@pytest.mark.parametrize(
    ("pattern", "file", "is_match"),
    [
        ("orders/a.json", "orders/a.json", True),
        ("orders/*", "orders/2026/a.json", True),
        ("*.json", "orders/a.json", True),
        ("*.json", "orders/a.json.gz", False),
        ("orders/?.json", "orders/a.json", True),
        ("orders/?.json", "orders/ab.json", False),
        ("orders/[a].json", "orders/[a].json", True),
        ("orders/[a].json", "orders/a.json", False),
        ("orders/a.json", "orders/aXjson", False),
        ("a b+(c)*", "a b+(c)\nd", True),
    ],
)
def test_a_file_is_named_by_its_path_or_by_a_glob(pattern: str, file: str, is_match: bool) -> None:
    selection = Selection(files=("nothing", pattern))

    assert selection.matches_file(file) is is_match
    assert (re.fullmatch(selection.file_regex, file) is not None) is is_match


def test_days_are_whole_and_of_utc() -> None:
    selection = Selection(since=date(2026, 3, 1), until=date(2026, 3, 2))

    assert (selection.seen_from, selection.seen_before) == (
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2026, 3, 3, tzinfo=UTC),
    )
    assert [selection.covers(datetime(2026, 3, day, 23, 59, tzinfo=UTC)) for day in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert Selection(until=date.max).covers(datetime.max.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "selection", [Selection(), Selection(("a",), ("b", "c*"), date(2026, 3, 1), None, ("open", "discarded"))]
)
def test_it_comes_back_from_the_ledger_as_it_was(selection: Selection) -> None:
    assert Selection.of_dict(json.loads(json.dumps(selection.as_dict()))) == selection
