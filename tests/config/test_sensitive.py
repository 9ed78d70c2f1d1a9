import pytest

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns

PIPELINE = Pipeline.model_validate(
    {
        "pipeline": "shop",
        "sources": {"orders": {"format": "json", "path": "orders"}, "members": {"format": "csv", "path": "members"}},
        "dimensions": {
            "members": {
                "from": "members",
                "key": "member_id",
                "sequence_by": "at",
                "columns": {"member_id": {"type": "bigint", "sensitive": True}, "city": "string", "at": "timestamp",
                            "salary": {"type": "int", "sensitive": True}},
            }
        },
        "silver": {
            "orders": {
                "from": "orders",
                "columns": {"order_id": "bigint", "member_id": "bigint", "Card": {"type": "string", "sensitive": True},
                            "last4": {"type": "string", "sql": "right(card, 4)"}},
                "lookup": {"members": {"on": "member_id", "take": ["city", "salary"]}},
            },
            "plain": {"from": "orders", "columns": {"order_id": "bigint"}},
        },
        "gold": {
            "pay": {"from": "silver.orders", "group_by": ["city"], "measures": {"total": "sum(salary)", "payers": "count(salary)"}},
        },
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("table", "hidden", "shown"),
    [
        ("dimension.members", ["member_id", "salary"], ["city", "at"]),
        ("silver.orders", ["card", "CARD", "last4", "salary", "member_id"], ["order_id", "city"]),
        ("gold.pay", ["total", "salary"], ["payers", "city", "window_start"]),
        ("silver.plain", [], ["order_id", "anything"]),
        ("bronze.orders", ["record"], []),
    ],
)
def test_a_column_is_as_sensitive_as_what_it_is_made_from(table: str, hidden: list[str], shown: list[str]) -> None:
    sensitive = sensitive_columns(PIPELINE, table)

    assert {name: sensitive.hides(name) for name in (*hidden, *shown)} == {**dict.fromkeys(hidden, True), **dict.fromkeys(shown, False)}


def test_a_value_of_no_single_column_may_hold_a_sensitive_one() -> None:
    assert [sensitive_columns(PIPELINE, "silver.orders").hides(column) for column in (None, "", "order_id,card", "card,order_id")] == [
        True
    ] * 4
    assert not sensitive_columns(PIPELINE, "silver.plain").hides(None)
