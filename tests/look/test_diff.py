"""`weir diff`: two versions of a table by key, without Spark."""

import json
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake.layout import Lake
from tests.conftest import Workshop
from tests.look.conftest import Weir
from tests.look.lake import write_orders


def diff(weir: Weir, *arguments: str) -> dict[str, Any]:
    done = weir("diff", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_rows_that_came_went_and_changed_are_named_by_their_key(weir: Weir, shop: Workshop) -> None:
    write_orders(shop, (1, "ann@example.com", "Rome", "3.50"), (4, None, "Kyiv", "1.00"))

    done = weir("diff", "shop.silver.orders", "--from", "v0")

    assert [line.split() for line in done.stdout.splitlines()] == [
        ["shop.silver.orders:", "version", "0", "→", "2,", "by", "id"],
        ["1", "added,", "1", "removed,", "1", "changed,", "0", "unchanged"],
        ["changed:", "email", "in", "1", "row"],
        ["changed", "id=1", "email:", "•••", "→", "•••"],
        ["removed", "id=2", "email:", "·,", "city:", "Oslo,", "amount:", "4.00"],
        ["added", "id=4", "email:", "·,", "city:", "Kyiv,", "amount:", "1.00"],
    ]


def test_json_has_the_counts_and_the_first_rows(weir: Weir) -> None:
    found = diff(weir, "shop.silver.orders", "--from", "0", "--to", "v1", "--rows", "2")

    assert {name: value for name, value in found.items() if name != "first"} == {
        "status": "ok", "exit_code": 0, "table": "shop.silver.orders", "from": 0, "to": 1, "key": ["id"],
        "compared": ["email", "city", "amount"], "added": 1, "removed": 0, "changed": 2, "unchanged": 0,
        "columns": {"email": 1, "city": 1}, "notes": [],
    }  # fmt: skip
    assert found["first"] == [
        {"kind": "changed", "key": {"id": 1}, "values": {"email": {"from": "•••", "to": "•••"}}},
        {"kind": "changed", "key": {"id": 2}, "values": {"city": {"from": "Oslo", "to": "Bern"}}},
    ]


def test_a_version_beside_itself_has_no_difference(weir: Weir) -> None:
    found = diff(weir, "shop.silver.orders", "--from", "v1")

    assert (found["added"], found["removed"], found["changed"], found["unchanged"]) == (0, 0, 0, 3)
    assert found["first"] == []


def test_null_is_told_from_a_value_in_keys_too(weir: Weir, shop: Workshop) -> None:
    path = Lake(shop.project.lake, "shop").table("gold.per_city")
    write_deltalake(path, pa.table({"city": [None, "Rome"], "order_count": [1, None]}))
    write_deltalake(path, pa.table({"city": [None, "Rome"], "order_count": [None, 2]}), mode="overwrite")

    found = diff(weir, "shop.gold.per_city", "--from", "v0")

    assert (found["key"], found["added"], found["changed"]) == (["city"], 0, 2)
    assert [row["values"]["order_count"] for row in found["first"]] == [
        {"from": None, "to": 2},
        {"from": 1, "to": None},
    ]


def test_rows_without_a_key_are_compared_as_bags(weir: Weir, shop: Workshop) -> None:
    path = Lake(shop.project.lake, "shop").ledger("runs")
    write_deltalake(path, pa.table({"n": ["a", "a", "b"]}))
    write_deltalake(path, pa.table({"n": ["a", "b", "c"]}), mode="overwrite")

    found = diff(weir, "shop.ledger.runs", "--from", "v0")

    assert (found["key"], found["added"], found["removed"], found["unchanged"]) == ([], 1, 1, 2)
    assert [(row["kind"], row["values"]) for row in found["first"]] == [
        ("removed", {"n": "a"}),
        ("added", {"n": "c"}),
    ]


def test_columns_that_came_went_or_have_another_type_are_told(weir: Weir, shop: Workshop) -> None:
    path = Lake(shop.project.lake, "depot").table("silver.boxes")
    write_deltalake(
        path, pa.table({"_file_id": ["f"], "_line": [1], "id": pa.array([1], pa.int32()), "old": [1]})
    )
    new = pa.table({"_file_id": ["f"], "_line": [1], "id": pa.array([1], pa.int64()), "new": [1]})
    write_deltalake(path, new, mode="overwrite", schema_mode="overwrite")

    found = diff(weir, "depot.silver.boxes", "--from", "v0")

    assert found["notes"] == [
        "version 1 has a column new more",
        "version 1 has no column old any more",
        "the column id was int and is bigint; compared as text",
    ]
    assert (found["key"], found["unchanged"]) == (["_file_id", "_line"], 1)


def test_a_key_that_was_none_before_is_not_used(weir: Weir, shop: Workshop) -> None:
    write_orders(shop, (1, None, "Rome", "1.00"), (1, None, "Oslo", "1.00"))

    found = diff(weir, "shop.silver.orders", "--from", "v1")

    assert (found["key"], found["added"], found["removed"]) == ([], 2, 3)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("shop.silver.order", "--from", "v0"), 2, "did you mean 'shop.silver.orders'?"),
        (("shop.silver.orders", "--from", "soon"), 2, "--from: 'soon' is not a version"),
        (("shop.silver.orders", "--from", "v0", "--to", "v9"), 2, "there is no version 9; the newest is 1"),
        (("shop.silver.orders@v1", "--from", "v0"), 2, "write the versions with --from and --to"),
        (("shop.silver.orders",), 2, "Missing option '--from'"),
        (("shop.gold.per_city", "--from", "v0"), 3, "no run has made it yet"),
    ],
)
def test_a_mistake_is_named(weir: Weir, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = weir("diff", *arguments, "--json")

    assert done.exit_code == code
    assert said in json.loads(done.stdout)["message"]
