"""The sample's files: always the same bytes, never half a file, and a summary that says what is in them."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.sample.clicks import KINDS as CLICK_KINDS
from spark_jobs.sample.clicks import MISTAKES as CLICK_MISTAKES
from spark_jobs.sample.csv_text import DEFECTS
from spark_jobs.sample.delivery import SampleSummary
from spark_jobs.sample.draws import BASE_MS
from spark_jobs.sample.order_text import ODD_STATUSES
from spark_jobs.sample.orders import KINDS as ORDER_KINDS
from spark_jobs.sample.orders import ROLES
from spark_jobs.sample.write import write_sample
from tests.sample.oracle.answers import true_answers


def contents(landing: Path) -> dict[str, bytes]:
    return {
        path.relative_to(landing).as_posix(): path.read_bytes()
        for path in sorted(landing.rglob("*"))
        if path.is_file()
    }


def lines(landing: Path, folder: str, increment: int | None = None) -> list[str]:
    pattern = "*" if increment is None else f"*-{increment:04d}-*"
    return [
        line
        for file in sorted((landing / folder).glob(pattern))
        for line in file.read_text(encoding="utf-8").split("\n")[:-1]
    ]


def parsed(text_lines: list[str]) -> list[dict[str, Any] | None]:
    def parse(line: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads(line)
            return found
        except json.JSONDecodeError:
            return None

    return [parse(line) for line in text_lines]


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("landing")


@pytest.fixture(scope="module")
def summaries(landing: Path) -> list[SampleSummary]:
    """A first load of 1,000 orders and two increments."""
    return [write_sample(landing, 1000, increment=increment) for increment in range(3)]


def test_the_same_arguments_give_the_same_bytes_whatever_the_number_of_processes(tmp_path: Path) -> None:
    for increment in (0, 1):
        write_sample(tmp_path / "alone", 110_000, increment=increment, processes=1)
        write_sample(tmp_path / "together", 110_000, increment=increment, processes=3)

    alone = contents(tmp_path / "alone")
    assert len(alone) > 10
    assert alone == contents(tmp_path / "together")


def test_another_seed_gives_other_orders(tmp_path: Path) -> None:
    write_sample(tmp_path / "seven", 100, seed=7)
    write_sample(tmp_path / "eight", 100, seed=8)

    assert contents(tmp_path / "seven") != contents(tmp_path / "eight")


def test_an_increment_does_not_depend_on_what_was_written_before(
    tmp_path: Path, landing: Path, summaries: list[SampleSummary]
) -> None:
    write_sample(tmp_path, 1000, increment=2)

    assert contents(tmp_path) == {path: text for path, text in contents(landing).items() if "-0002-" in path}


def test_writing_again_leaves_the_files_as_they_are(tmp_path: Path) -> None:
    first = write_sample(tmp_path, 100)
    times = {file: file.stat().st_mtime_ns for file in first.files}

    again = write_sample(tmp_path, 100)

    assert again == first
    assert {file: file.stat().st_mtime_ns for file in again.files} == times


def test_each_file_is_whole_when_it_is_told_and_nothing_else_is_left(tmp_path: Path) -> None:
    told: dict[str, bytes] = {}

    summary = write_sample(
        tmp_path,
        1000,
        on_file=lambda path: told.update({path.relative_to(tmp_path).as_posix(): path.read_bytes()}),
    )

    assert told == contents(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in summary.files] == list(told)
    assert summary.bytes == sum(len(text) for text in told.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clickstream", "retail"]


def test_a_failed_write_leaves_no_half_file(tmp_path: Path) -> None:
    (tmp_path / "retail/orders/orders-0000-00000.json/in the way").mkdir(parents=True)

    with pytest.raises((IsADirectoryError, PermissionError)):
        write_sample(tmp_path, 100)

    assert not list(tmp_path.glob(".writing*"))
    assert not [path for path in (tmp_path / "retail/orders").rglob("*") if path.is_file()]


@pytest.mark.parametrize(("orders", "increment"), [(99, 0), (10_000_001, 0), (1000, -1), (1000, 401)])
def test_sizes_out_of_bounds_are_refused_with_the_value(tmp_path: Path, orders: int, increment: int) -> None:
    with pytest.raises(ValueError, match=f"is {orders if increment == 0 else increment}; allowed are"):
        write_sample(tmp_path, orders, increment=increment)


def test_an_unknown_defect_is_refused_with_the_value(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="defect is 'upside_down'; allowed are cents and stuck"):
        write_sample(tmp_path, 1000, increment=1, defect="upside_down")


@pytest.mark.parametrize(("defect", "spoiled"), [("cents", "payment"), ("stuck", "ordered_at")])
def test_a_defect_spoils_one_field_of_all_orders_under_another_file_name(
    tmp_path: Path, landing: Path, summaries: list[SampleSummary], defect: str, spoiled: str
) -> None:
    write_sample(tmp_path, 1000, increment=1, defect=defect)

    pairs = zip(
        parsed(lines(landing, "retail/orders", 1)), parsed(lines(tmp_path, "retail/orders", 1)), strict=True
    )
    whole = [(right, wrong) for right, wrong in pairs if right and wrong]

    assert list(contents(tmp_path)) == [f"retail/orders/orders-0001-{defect}-00000.json"]
    assert len(whole) > 90
    assert {name for right, wrong in whole for name in right if right[name] != wrong[name]} == {spoiled}


@pytest.mark.parametrize("increment", [0, 1])
def test_every_kind_of_dirt_is_there(summaries: list[SampleSummary], increment: int) -> None:
    expected = {f"orders.{kind}" for kind in (*ORDER_KINDS, *ROLES[1:])} | {
        f"clicks.{kind}" for kind in CLICK_KINDS
    }
    expected |= {f"{source}.{defect}" for source in ("customers", "products") for defect in DEFECTS}
    if increment == 1:
        expected |= {
            "customers.past_change",
            "customers.late_member",
            "products.late_member",
            "products.stale",
        }

    kinds = summaries[increment].kinds

    assert expected <= kinds.keys()
    assert min(kinds[name] for name in expected) >= 1


@pytest.mark.parametrize("increment", [0, 1, 2])
def test_the_summary_counts_the_orders_in_the_files(
    landing: Path, summaries: list[SampleSummary], increment: int
) -> None:
    text = lines(landing, "retail/orders", increment)
    orders = parsed(text)
    whole = [order for order in orders if order is not None]
    kinds = {
        name.removeprefix("orders."): count
        for name, count in summaries[increment].kinds.items()
        if name.startswith("orders.")
    }

    assert summaries[increment].order_records == len(text)
    assert orders.count(None) == kinds["cut_json"] + kinds["glued_json"]
    assert sum("}{" in line for line in text) == kinds["glued_json"]
    assert {
        "empty_items": sum(order.get("items") == [] for order in whole),
        "no_items": sum("items" not in order for order in whole),
        "no_payment": sum(order["payment"] is None for order in whole),
        "extra_fields": sum("channel" in order for order in whole),
        "text_numbers": sum(
            isinstance(order["order_id"], str) and order["order_id"].isdigit() for order in whole
        ),
        "future_time": sum((order["ordered_at"] or "").startswith("2099") for order in whole),
        "null_time": sum(order["ordered_at"] is None for order in whole),
        "null_key": sum(order["order_id"] is None for order in whole),
        "null_sequence": sum(order["updated_at"] is None for order in whole),
        "offset_time": sum((order["ordered_at"] or "").endswith("+02:00") for order in whole),
        "wrong_amount": sum((order["payment"] or {}).get("amount") == "abc" for order in whole),
        "negative_amount": sum(
            str((order["payment"] or {}).get("amount")).startswith("-") for order in whole
        ),
        "odd_status": sum(order["status"] in ODD_STATUSES for order in whole),
        "zero_quantity": sum(
            any(item["quantity"] == 0 for item in order.get("items", [])) for order in whole
        ),
        "wrong_id": sum(str(order["order_id"]).startswith("x") for order in whole),
        "wrong_quantity": sum(
            any(item["quantity"] == "two" for item in order.get("items", [])) for order in whole
        ),
        "unknown_customer": sum(order["customer_id"] > 2_000_000_000 for order in whole),
        "late_customer": sum(1_000_000_000 <= order["customer_id"] < 2_000_000_000 for order in whole),
        "unknown_product": sum(
            any(item["sku"].startswith("X") for item in order.get("items", [])) for order in whole
        ),
        "late_product": sum(
            any(item["sku"].startswith("L") for item in order.get("items", [])) for order in whole
        ),
    }.items() <= kinds.items()


def test_the_summary_counts_versions_of_orders(landing: Path, summaries: list[SampleSummary]) -> None:
    """Against the orders of the first load: increment 1 repeats lines, brings newer and older versions, and
    moves some to another hour.
    """
    first_lines = set(lines(landing, "retail/orders", 0))
    first = {
        order["order_id"]: order
        for order in parsed(sorted(first_lines))
        if order and order["updated_at"] and isinstance(order["order_id"], int)
    }
    newest: dict[int, dict[str, Any]] = {}
    roles: Counter[str] = Counter()
    for line, order in zip(text := lines(landing, "retail/orders", 1), parsed(text), strict=True):
        if line in first_lines:
            roles["duplicate"] += 1
        elif order and isinstance(order["order_id"], int) and order["order_id"] <= 1000:
            newest[order["order_id"]] = order
            roles["revised"] += 1

    kinds = summaries[1].kinds
    assert roles["duplicate"] == kinds["orders.duplicate"]
    revised = kinds["orders.correction"] + kinds["orders.moved"] + kinds["orders.stale"]
    # a revised order with a text for a number is not recognised above
    assert revised - 2 <= roles["revised"] <= revised
    known = [
        (first[number], order)
        for number, order in newest.items()
        if number in first and order["updated_at"] != first[number]["updated_at"]
    ]
    assert any(order["updated_at"] < old["updated_at"] for old, order in known)
    assert any(
        order["updated_at"] > old["updated_at"] and order["ordered_at"][:13] != (old["ordered_at"] or "")[:13]
        for old, order in known
    )
    assert all(len(order.get("items", [])) == len(old.get("items", [])) for old, order in known)


@pytest.mark.parametrize("increment", [0, 1])
@pytest.mark.parametrize("source", ["customers", "products"])
def test_the_summary_counts_the_rows_of_the_dimensions(
    landing: Path, summaries: list[SampleSummary], source: str, increment: int
) -> None:
    lengths: Counter[str] = Counter()
    records = 0
    for file in (landing / "retail" / source).glob(f"*-{increment:04d}-*"):
        header, *rows = csv.reader(file.open(encoding="utf-8", newline=""))
        lengths.update(
            (
                "blank_line"
                if not row
                else ["too_few_fields", "", "too_many_fields"][
                    1 + (len(row) > len(header)) - (len(row) < len(header))
                ]
            )
            for row in rows
        )
        records += len([row for row in rows if row])

    kinds = summaries[increment].kinds
    assert summaries[increment].records[f"retail/{source}"] == records
    for defect in ("blank_line", "too_few_fields", "too_many_fields"):
        assert lengths[defect] == kinds[f"{source}.{defect}"]


def test_files_of_a_dimension_order_their_columns_differently(
    landing: Path, summaries: list[SampleSummary]
) -> None:
    headers = {
        file.read_text(encoding="utf-8").partition("\n")[0]
        for file in (landing / "retail/customers").iterdir()
    }

    assert headers == {
        "customer_id,city,segment,email,changed_at",
        "segment,customer_id,note,city,email,changed_at",
    }


def test_members_that_come_late_arrive_one_increment_after_their_orders(
    landing: Path, summaries: list[SampleSummary]
) -> None:
    ordered = [
        order["customer_id"]
        for order in parsed(lines(landing, "retail/orders", 0))
        if order and 10**9 <= order["customer_id"] < 2 * 10**9
    ]
    arrived = [line.split(",")[1] for line in lines(landing, "retail/customers", 1) if line.count(",") == 5]
    known_before = [line.split(",")[0] for line in lines(landing, "retail/customers", 0)]

    assert ordered
    assert {str(number) for number in ordered} <= set(arrived)
    assert not {str(number) for number in ordered} & set(known_before)


def test_the_summary_counts_the_clicks_in_the_files(landing: Path, summaries: list[SampleSummary]) -> None:
    text = lines(landing, "clickstream/clicks", 1)
    clicks = parsed(text)
    kinds = summaries[1].kinds

    assert summaries[1].records["clickstream/clicks"] == len(text)
    assert clicks.count(None) == kinds["clicks.cut_json"] + kinds["clicks.glued_json"]
    assert len(text) - len(set(text)) == kinds["clicks.duplicate"]
    assert (
        sum(click is not None and click.get("page") is None for click in clicks)
        == kinds["clicks.null_page"] + kinds["clicks.no_page"]
    )


def test_event_times_stay_far_from_the_present(tmp_path: Path) -> None:
    """Whether a row is in the future must not depend on the day of the run."""
    write_sample(tmp_path, 1000, increment=400)
    times = [
        order[name]
        for order in parsed(lines(tmp_path, "retail/orders"))
        if order
        for name in ("ordered_at", "updated_at")
        if order[name]
    ]

    assert BASE_MS == 1_772_323_200_000
    assert all(time < "2026-08" or time.startswith("2099") for time in times)


def test_the_answers_set_aside_what_the_summary_calls_a_mistake(
    landing: Path, summaries: list[SampleSummary]
) -> None:
    [counts] = [row for row in true_answers(landing)["counts"] if row["table"] == "silver.clicks"]

    assert counts["quarantined"] == sum(
        summary.kinds[f"clicks.{kind}"] for summary in summaries for kind in CLICK_MISTAKES
    )
