"""The shipped expectations over the sample: good deliveries are never held, defective ones are, and rules
tell what the demo tells.
"""

from pathlib import Path

import pytest

from spark_jobs.config.expectations import OnFail, Rule
from spark_jobs.sample.write import write_sample
from tests.sample.oracle.answers import true_answers
from tests.sample.plain_rules import failing, is_plain, shipped_rules

RULES = {pipeline: shipped_rules(pipeline) for pipeline in ("retail", "clickstream")}
GOOD = [
    (1_000, 7, 0),
    (1_000, 7, 1),
    (1_000, 7, 400),
    (1_000, 11, 3),
    (1_000, 2_026, 1),
    (2_000, 7, 2),
    (10_000, 7, 0),
    (20_000, 3, 5),
]


def failures(landing: Path, pipeline: str, on_fail: OnFail) -> dict[str, set[str]]:
    """Per table with rows the rules with this consequence that do not hold for the newest versions of what
    has landed.
    """
    answers = true_answers(landing)
    judged = {table: of(rules, on_fail) for table, rules in RULES[pipeline].items() if answers[table]}
    found = {table: failing(rules, answers[table]) for table, rules in judged.items() if rules}
    return {table: names for table, names in found.items() if names}


def of(rules: tuple[Rule, ...], on_fail: OnFail) -> list[Rule]:
    return [rule for rule in rules if rule.on_fail == on_fail and is_plain(rule)]


@pytest.mark.parametrize("on_fail", ["quarantine", "warn", "block"])
def test_retail_shows_every_consequence_at_least_three_times(on_fail: OnFail) -> None:
    rules = [rule for table in RULES["retail"].values() for rule in table if rule.on_fail == on_fail]

    assert len(rules) >= 3


def test_whatever_sets_rows_aside_or_holds_a_delivery_can_be_judged_here() -> None:
    """Otherwise the tests below would pass it over."""
    rules = [rule for pipeline in RULES.values() for table in pipeline.values() for rule in table]

    assert [rule.name for rule in rules if rule.on_fail != "warn" and not is_plain(rule)] == []


@pytest.mark.parametrize(("orders", "seed", "increment"), GOOD)
def test_a_good_delivery_is_never_held(tmp_path: Path, orders: int, seed: int, increment: int) -> None:
    write_sample(tmp_path, orders, seed=seed, increment=increment)

    assert {pipeline: failures(tmp_path, pipeline, "block") for pipeline in RULES} == {
        "retail": {},
        "clickstream": {},
    }


@pytest.mark.parametrize("size", [1, 5])
def test_a_few_good_orders_alone_are_not_held_either(tmp_path: Path, size: int) -> None:
    """As when single rows are replayed: what holds for a delivery must not need its size."""
    write_sample(tmp_path, 1_000)
    orders = [row for row in true_answers(tmp_path)["silver.orders"] if row["amount"] is not None]

    parts = [orders[start : start + size] for start in range(0, 20, size)]

    assert [failing(of(RULES["retail"]["silver.orders"], "block"), part) for part in parts] == [set()] * len(
        parts
    )


@pytest.mark.parametrize(("orders", "seed", "increment"), GOOD)
def test_amounts_in_cents_are_held_by_three_rules_of_the_orders_alone(
    tmp_path: Path, orders: int, seed: int, increment: int
) -> None:
    write_sample(tmp_path, orders, seed=seed, increment=increment, defect="cents")

    assert failures(tmp_path, "retail", "block") == {
        "silver.orders": {"mean_amount_in_euros", "usual_amounts", "amounts_with_cents"}
    }


@pytest.mark.parametrize(("orders", "seed", "increment"), GOOD[:4])
def test_a_stuck_clock_is_held_in_both_tables_of_the_file(
    tmp_path: Path, orders: int, seed: int, increment: int
) -> None:
    write_sample(tmp_path, orders, seed=seed, increment=increment, defect="stuck")

    assert failures(tmp_path, "retail", "block") == {
        "silver.orders": {"clock_moves"},
        "silver.order_lines": {"clock_moves"},
    }


@pytest.mark.parametrize("defect", [None, "cents", "stuck"])
def test_the_answers_hold_what_the_rules_would_set_aside(tmp_path: Path, defect: str | None) -> None:
    """No row of the answers breaks a rule; that no other row is missing is what the counts of the mistakes
    say.
    """
    write_sample(tmp_path, 2_000, increment=1, defect=defect)

    assert {pipeline: failures(tmp_path, pipeline, "quarantine") for pipeline in RULES} == {
        "retail": {},
        "clickstream": {},
    }


def test_a_defective_delivery_sets_no_more_rows_aside_than_the_right_one(tmp_path: Path) -> None:
    """Each of its rows alone could be right: only the whole gives it away."""
    write_sample(tmp_path / "right", 2_000, increment=1)
    write_sample(tmp_path / "cents", 2_000, increment=1, defect="cents")

    right, cents = (true_answers(tmp_path / name)["counts"] for name in ("right", "cents"))
    assert [row for row in cents if row["table"].startswith("silver.order")] == [
        row for row in right if row["table"].startswith("silver.order")
    ]


def test_the_first_load_of_the_demo_has_something_to_warn_of(tmp_path: Path) -> None:
    write_sample(tmp_path, 2_000)

    assert failures(tmp_path, "retail", "warn") == {
        "dimension.customers": {"email_wellformed", "city_is_known"},
        "dimension.products": {"category_is_known"},
        "silver.orders": {"amount_is_known", "city_is_known", "updated_after_ordered"},
        "silver.order_lines": {"sku_as_printed"},
        "gold.revenue_per_hour": {"city_is_known"},
    }
    assert failures(tmp_path, "clickstream", "warn") == {
        "silver.clicks": {"referrer_is_known", "clicks_come_once"}
    }
