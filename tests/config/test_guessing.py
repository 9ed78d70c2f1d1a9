"""Columns that are proposed for records: what every value fits, and text where that is not known."""

from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.operations.guessing import guess_columns


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, "7"], "bigint"),
        ([2**70], "string"),
        (["007"], "string"),
        ([Decimal("1.50"), Decimal("112.5")], "decimal(9,2)"),
        ([1, Decimal("0.25")], "decimal(24,2)"),
        ([Decimal("1E+30"), 1], "double"),
        ([True, "false"], "boolean"),
        ([True, 1], "string"),
        (["2026-03-01", "2026-03-01T10:00:00Z"], "timestamp"),
        (["2026-03-01"], "date"),
        (["12:30"], "string"),
        ([None, ""], "string"),
        ([["a"], []], "array<string>"),
        ([[{"n": 1}, {"n": Decimal("1.5"), "s": "x"}]], "array<struct<n:decimal(23,1),s:string>>"),
        ([[{"not a name": 1}]], "string"),
        ([{"a": 1}, "text"], "string"),
    ],
)
def test_a_column_has_the_narrowest_type_that_every_value_fits(values: list[Any], kind: str) -> None:
    assert guess_columns({"value": value} for value in values) == {"value": (kind, "value")}


def test_nested_fields_are_columns_by_their_path_and_names_are_legal_and_differ() -> None:
    record = {"id": 1, "customer": {"id": 2, "the name": "Ann"}, "1st": 1, "a.b": 1, "ID": 3, " ": 1}

    assert guess_columns([record]) == {
        "id": ("bigint", "id"),
        "customer_id": ("bigint", "customer.id"),
        "the_name": ("string", "customer.the name"),
        "c_1st": ("bigint", "1st"),
        "ID_2": ("bigint", "ID"),
    }


def test_fields_of_a_flat_record_are_taken_by_their_whole_name() -> None:
    assert guess_columns([{"unit.price": "1.50"}], is_flat=True) == {
        "unit_price": ("decimal(7,2)", "unit.price")
    }
