"""The true answers against landing folders small enough to know the answers by heart."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.sample.orders import MISTAKES
from spark_jobs.sample.write import write_sample
from tests.sample.oracle.answers import true_answers, write_answers
from tests.sample.oracle.versions import ConflictError

Land = Callable[..., Path]
Order = Callable[..., dict[str, Any]]


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def pick(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def history(answers: dict[str, list[dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """City, start and end of each version of a customer, in the order of time."""
    return pick(
        sorted(answers["dimension.customers"], key=lambda row: row["_valid_from"]),
        "city",
        "_valid_from",
        "_valid_to",
    )


def counts(landing: Path, table: str) -> tuple[int, int]:
    [row] = [row for row in true_answers(landing)["counts"] if row["table"] == table]
    return row["quarantined"], row["filtered"]


def test_a_correction_moves_an_order_to_another_hour(land: Land, order: Order) -> None:
    correction = order(
        1,
        ordered_at="2026-03-01T12:00:00Z",
        updated_at="2026-03-02T00:00:00Z",
        payment={"amount": 25, "method": "cash"},
    )

    answers = true_answers(land(orders=[correction, order(1), order(2)]))

    assert pick(answers["silver.orders"], "order_id", "amount", "is_card") == [
        (1, Decimal("25.00"), False),
        (2, Decimal("20.00"), True),
    ]
    assert answers["gold.revenue_per_hour"] == [
        {
            "window_start": at(1, 10),
            "window_end": at(1, 11),
            "city": None,
            "order_count": 1,
            "revenue": Decimal("20.00"),
        },
        {
            "window_start": at(1, 12),
            "window_end": at(1, 13),
            "city": None,
            "order_count": 1,
            "revenue": Decimal("25.00"),
        },
    ]


def test_a_stale_version_changes_nothing(land: Land, order: Order) -> None:
    landing = land(orders=[order(1)])
    before = true_answers(landing)

    after = true_answers(land(orders=[order(1, status="new", updated_at="2026-03-01T10:19:59.999Z")]))

    assert after == before


def test_versions_of_a_customer_are_put_in_order_whatever_their_arrival(land: Land) -> None:
    land(
        customers=(
            "customer_id,city,segment,changed_at\n1,Linz,home,2026-03-05\n1,Graz,home,2026-03-01T00:00:00Z\n"
        )
    )
    landing = land(
        customers="changed_at,note,city,customer_id,segment\n2026-03-03 00:00:00,late,Oslo,1,home\n"
    )

    answers = true_answers(landing)

    assert history(answers) == [
        ("Graz", at(1), at(3)),
        ("Oslo", at(3), at(5)),
        ("Linz", at(5), None),
    ]


def test_versions_that_change_nothing_belong_to_the_one_before_and_a_return_is_a_new_one(land: Land) -> None:
    rows = [
        "1,A,home,2026-03-01",
        "1,A,home,2026-03-02",
        "1,B,home,2026-03-03",
        "1,A,home,2026-03-04",
        "1,A,home,2026-03-04",
    ]

    answers = true_answers(land(customers="\n".join(["customer_id,city,segment,changed_at", *rows])))

    assert history(answers) == [("A", at(1), at(3)), ("B", at(3), at(4)), ("A", at(4), None)]
    assert all(row["changed_at"] == row["_valid_from"] for row in answers["dimension.customers"])


def test_a_change_to_and_from_null_is_a_change(land: Land) -> None:
    answers = true_answers(
        land(
            customers="customer_id,city,segment,changed_at\n1,A,,2026-03-01\n1,,,2026-03-02\n1,,,2026-03-03\n1,A,,2026-03-04\n"
        )
    )

    assert history(answers) == [
        ("A", at(1), at(2)),
        (None, at(2), at(4)),
        ("A", at(4), None),
    ]


def test_an_order_finds_its_customer_as_of_its_time(land: Land, order: Order) -> None:
    customers = "customer_id,city,segment,changed_at\n1,Graz,home,2026-03-02\n1,Linz,shop,2026-03-03\n"
    times = {
        1: "2026-03-01T23:59:59.999Z",
        2: "2026-03-02T00:00:00Z",
        3: "2026-03-02T23:59:59.999Z",
        4: "2026-03-03T00:00:00Z",
    }

    answers = true_answers(
        land(customers=customers, orders=[order(number, ordered_at=time) for number, time in times.items()])
    )

    assert pick(answers["silver.orders"], "order_id", "city", "segment") == [
        (1, None, None),
        (2, "Graz", "home"),
        (3, "Graz", "home"),
        (4, "Linz", "shop"),
    ]


def test_a_product_is_its_newest_row_and_may_be_unknown(land: Land, order: Order) -> None:
    items = [
        {"line_no": 1, "sku": "A", "quantity": 2, "price": 1.5},
        {"line_no": 2, "sku": "B", "quantity": 1, "price": 4},
    ]
    products = "sku,category,unit_cost,changed_at\nA,new,1.0100,2026-03-02\nA,old,9,2026-03-01\n"

    answers = true_answers(land(products=products, orders=[order(1, items=items), order(2, items=items[:1])]))

    assert pick(answers["dimension.products"], "sku", "category", "unit_cost") == [
        ("A", "new", Decimal("1.01"))
    ]
    assert answers["gold.top_products"] == [
        {"sku": "A", "category": "new", "order_count": 2, "quantity": 4, "revenue": Decimal("6.00")},
        {"sku": "B", "category": None, "order_count": 1, "quantity": 1, "revenue": Decimal("4.00")},
    ]


@pytest.mark.parametrize(
    "line",
    ['{"order_id":1', '{"order_id":1}{"order_id":2}', "[1]", "12", "nothing", '{"order_id":NaN}'],
    ids=["cut", "glued", "list", "number", "word", "no JSON number"],
)
def test_a_line_that_is_not_one_object_is_quarantined_once_in_both_tables(land: Land, line: str) -> None:
    landing = land(orders=[line, "", "  "])

    assert counts(landing, "silver.orders") == (1, 0)
    assert counts(landing, "silver.order_lines") == (1, 0)


@pytest.mark.parametrize(
    ("fields", "orders", "lines"),
    [
        ({"order_id": "x12"}, 1, 2),
        ({"order_id": 12.7}, 1, 2),
        ({"order_id": None}, 1, 2),
        ({"ordered_at": None}, 1, 2),
        ({"ordered_at": "2099-01-01T00:00:00Z"}, 1, 2),
        ({"ordered_at": "01.03.2026"}, 1, 2),
        ({"updated_at": None}, 1, 2),
        ({"payment": {"amount": "abc"}}, 1, 0),
        ({"payment": {"amount": 10_000_000_000}}, 1, 0),
        ({"customer_id": "c7"}, 1, 0),
        ({"payment": {"amount": -0.01}}, 1, 0),
        ({"payment": {"amount": 0}}, 0, 0),
        ({"status": "lost"}, 1, 0),
        ({"status": None}, 0, 0),
        ({"customer_id": None}, 0, 0),
        ({"order_id": "12"}, 0, 0),
        ({"payment": None}, 0, 0),
        ({"unknown": {"a": [1]}}, 0, 0),
    ],
)
def test_a_wrong_value_concerns_the_tables_that_declare_it(
    land: Land, order: Order, fields: dict[str, Any], orders: int, lines: int
) -> None:
    items = [{"line_no": number, "sku": "A", "quantity": 1, "price": 1} for number in (1, 2)]

    landing = land(orders=[order(1, items=items) | fields])

    assert (counts(landing, "silver.orders")[0], counts(landing, "silver.order_lines")[0]) == (orders, lines)
    assert len(true_answers(landing)["silver.orders"]) == 1 - orders
    assert len(true_answers(landing)["silver.order_lines"]) == 2 - lines


def test_a_wrong_item_is_quarantined_alone(land: Land, order: Order) -> None:
    wrong = [{"line_no": 1, "quantity": "two"}, {"line_no": None}, {"line_no": 2, "quantity": 0}]
    items = [*wrong, {"line_no": 3, "sku": "A", "quantity": 1}]

    landing = land(orders=[order(1, items=items)])

    assert counts(landing, "silver.order_lines") == (3, 0)
    assert pick(true_answers(landing)["silver.order_lines"], "line_no", "quantity", "price") == [(3, 1, None)]


def test_an_order_without_items_is_filtered_from_the_lines(land: Land, order: Order) -> None:
    without = {name: value for name, value in order(3).items() if name != "items"}

    landing = land(orders=[order(1, items=[]), order(2, items=None), without])

    assert counts(landing, "silver.order_lines") == (0, 3)
    assert len(true_answers(landing)["silver.orders"]) == 3


def test_csv_rows_of_another_length_or_without_a_key_or_time_are_quarantined(land: Land) -> None:
    rows = [
        "1",
        "1,A,,2026-03-01,more",
        "",
        ",A,,2026-03-01",
        "1,A,,",
        "one,A,,2026-03-01",
        '2,"A, B",,2026-03-01',
    ]

    landing = land(customers="\n".join(["customer_id,city,segment,changed_at", *rows]) + "\n")

    assert counts(landing, "dimension.customers") == (5, 0)
    assert pick(true_answers(landing)["dimension.customers"], "customer_id", "city") == [(2, "A, B")]


def test_a_price_that_would_have_to_be_rounded_is_none(land: Land, order: Order) -> None:
    prices = ["1.005", "1.0049", "-1.0100", "1e2"]
    items = [
        {"line_no": number, "sku": "A", "quantity": 1, "price": price} for number, price in enumerate(prices)
    ]

    answers = true_answers(land(orders=[order(1, items=items)]))

    assert pick(answers["silver.order_lines"], "price") == [
        (Decimal("-1.01"),),
        (Decimal("100.00"),),
    ]


def test_two_contents_at_one_sequence_have_no_true_answer(land: Land, order: Order) -> None:
    with pytest.raises(ConflictError, match="same key and sequence"):
        true_answers(land(orders=[order(1), order(1, status="new")]))


def test_a_click_is_in_two_sliding_windows_and_a_repeated_click_counts_twice(land: Land) -> None:
    click = {
        "click_id": "a",
        "user_id": 1,
        "page": "/",
        "clicked_at": "2026-03-01T00:05:00Z",
        "context": {"referrer": "mail"},
    }
    other = click | {
        "click_id": "b",
        "user_id": None,
        "context": None,
        "clicked_at": "2026-03-01T02:09:59.999+02:00",
    }

    landing = land(
        clicks=[
            click,
            click,
            other,
            click | {"page": None},
            click | {"page": "x"},
            click | {"clicked_at": "2099-01-01"},
        ]
    )
    answers = true_answers(landing)

    assert counts(landing, "silver.clicks") == (3, 0)
    assert answers["gold.clicks_per_page"] == [
        {
            "window_start": start,
            "window_end": start + timedelta(minutes=10),
            "page": "/",
            "click_count": 3,
            "user_count": 1,
        }
        for start in (at(1, 0, 0), at(1, 0, 5))
    ]
    assert answers["gold.page_funnel"] == [
        {"page": "/", "user_count": 1, "click_count": 3, "referrer_count": 1}
    ]


def test_the_written_sample_has_true_answers(tmp_path: Path) -> None:
    """No conflicts in any increment, and the mistakes that concern a whole order are what the orders table
    sets aside.
    """
    kinds = [write_sample(tmp_path, 2000, increment=increment).kinds for increment in range(4)]

    answers = true_answers(tmp_path)

    mistakes = set(MISTAKES) - {"wrong_quantity", "zero_quantity"}  # which concern the order's lines alone
    assert counts(tmp_path, "silver.orders") == (
        sum(each[f"orders.{kind}"] for each in kinds for kind in mistakes),
        0,
    )
    assert counts(tmp_path, "silver.order_lines")[1] == sum(
        each[f"orders.{kind}"] for each in kinds for kind in ("empty_items", "no_items")
    )
    assert sum(row["order_count"] for row in answers["gold.revenue_per_hour"]) == len(
        answers["silver.orders"]
    )
    assert sum(row["quantity"] for row in answers["gold.top_products"]) == sum(
        row["quantity"] for row in answers["silver.order_lines"]
    )


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    write_sample(tmp_path, 500)
    write_sample(tmp_path, 500, increment=1)
    before = true_answers(tmp_path)

    for file in [path for path in tmp_path.rglob("*") if path.is_file()]:
        file.rename(file.with_name(file.name[::-1]))

    assert true_answers(tmp_path) == before


def test_answers_are_written_as_one_file_a_table(land: Land, order: Order, tmp_path: Path) -> None:
    landing = land(orders=[order(1)])

    written = write_answers(landing, tmp_path / "answers")

    tables = true_answers(landing)
    assert sorted(path.stem for path in written) == sorted(tables)
    [line] = (tmp_path / "answers/gold.revenue_per_hour.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "window_start": "2026-03-01T10:00:00.000000Z",
        "window_end": "2026-03-01T11:00:00.000000Z",
        "city": None,
        "order_count": 1,
        "revenue": "20.00",
    }


def test_a_missing_landing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        true_answers(tmp_path / "nowhere")
