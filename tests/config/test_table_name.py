"""A table's name as a value: its parts, and the text that it stays."""

import json

import pytest

from spark_jobs.config.table_name import TableName


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("silver.orders", ("silver", "orders")),
        ("quarantine.silver.orders", ("quarantine", "silver.orders")),
        ("watermark", ("watermark", "")),
    ],
)
def test_a_name_is_a_layer_and_a_name_in_it(text: str, parts: tuple[str, str]) -> None:
    table = TableName(text)

    assert (table.parts, table.layer, table.name) == (parts, *parts)


def test_a_name_stays_the_text_that_the_ledger_has() -> None:
    assert (
        json.dumps({TableName("gold.revenue"): TableName("gold.revenue")})
        == '{"gold.revenue": "gold.revenue"}'
    )
    counts: dict[str, int] = {TableName("gold.revenue"): 1}
    assert counts["gold.revenue"] == 1


def test_a_table_of_rows_set_aside_is_in_no_layer_of_its_table() -> None:
    table, aside = TableName("silver.orders"), TableName("quarantine.silver.orders")

    assert (table.has_keys, aside.has_keys, TableName("dimension.customers").has_keys) == (True, False, True)
    assert [
        TableName(f"{layer}.a").is_in("bronze", "sink") for layer in ("bronze", "silver", "gold", "sink")
    ] == [True, False, False, True]
    assert (
        TableName("gold.a").is_gold,
        TableName("sink.a").is_sink,
        TableName("bronze.a").is_bronze,
        table.is_gold,
    ) == (
        True,
        True,
        True,
        False,
    )
