"""What a run tells of a table's batches: each rule once, of many files and fields the first, and where all of
them are. No JVM.
"""

from spark_jobs.bronze.drift import Drift
from spark_jobs.config.expectations import Rule
from spark_jobs.quality.result import RuleResult
from spark_jobs.run.notices import Notices
from tests.quality.rules import rule


def found(judged: Rule, failed: int, rows: int) -> RuleResult:
    return RuleResult(judged, is_met=failed == 0, rows=rows, failed=failed)


def test_a_rule_is_named_once_however_often_rows_are_judged_again() -> None:
    notices, judged = Notices("shop"), rule("expect_column_values_to_not_be_null", column="city")
    notices.add_finding("silver.orders", "stream", found(judged, 2, 100))
    notices.add_finding("silver.orders", "stream", found(judged, 0, 50))
    notices.add_finding("silver.orders", "stream", found(judged, 1, 50))
    notices.add_finding("silver.orders", "reenrich.customers", found(judged, 3, 150))
    notices.add_finding("silver.orders", "reenrich.products", found(judged, 3, 150))

    [line] = notices.say("silver.orders")

    assert line.startswith(f"silver.orders: {judged.name} is not met (3 of 200 rows, 1.5%)")
    assert notices.say("silver.orders") == []


def test_the_rows_of_a_query_are_no_share_of_the_batch() -> None:
    notices, judged = (
        Notices("shop"),
        rule("unexpected_rows_expectation", unexpected_rows_query="SELECT count(*) AS n FROM {batch}"),
    )
    notices.add_finding("silver.orders", "stream", found(judged, 1, 160))

    [line] = notices.say("silver.orders")

    assert line.startswith(f"silver.orders: {judged.name} is not met (its query found 1 row)")


def test_a_rule_that_only_corrected_rows_miss_is_named_by_what_they_show_last() -> None:
    notices, judged = Notices("shop"), rule("expect_column_values_to_not_be_null", column="city")
    notices.add_finding("silver.orders", "stream", found(judged, 0, 100))
    notices.add_finding("silver.orders", "reenrich.customers", found(judged, 3, 10))
    notices.add_finding("silver.items", "stream", found(judged, 0, 100))
    notices.add_finding("silver.items", "reenrich.customers", found(judged, 3, 10))
    notices.add_finding("silver.items", "reenrich.products", found(judged, 0, 10))

    assert ["3 of 10 rows" in line for line in notices.say("silver.orders")] == [True]
    assert notices.say("silver.items") == []


def test_of_a_rule_for_the_whole_table_the_newest_judgement_counts() -> None:
    notices, judged = (
        Notices("shop"),
        rule("expect_column_sum_to_be_between", "table", column="amount", min_value=1),
    )
    notices.add_finding("gold.totals", "stream", RuleResult(judged, is_met=False, observed="0"))
    notices.add_finding("gold.totals", "stream", RuleResult(judged, is_met=True, observed="9"))
    notices.add_finding("gold.others", "stream", RuleResult(judged, is_met=True, observed="9"))
    notices.add_finding("gold.others", "stream", RuleResult(judged, is_met=False, observed="0"))

    assert (notices.say("gold.totals"), ["(found 0)" in line for line in notices.say("gold.others")]) == (
        [],
        [True],
    )


def test_of_many_files_and_fields_of_many_batches_the_first_are_named_and_all_counted() -> None:
    notices = Notices("shop")
    for batch in range(100):
        notices.add_files("bronze.orders", [(f"{batch}.gz", "not a gzip file")], [f"{batch}.csv"])
        notices.add_drift("bronze.orders", [Drift("orders", f"f{batch}", "added", f"{batch}.csv")])

    lines = notices.say("bronze.orders")

    assert len(lines) == 4 + 4 + 6
    assert lines[0] == "orders: '0.gz' unreadable: not a gzip file"
    assert (
        lines[3]
        == "orders: 97 more files unreadable (100 in all): `weir quarantine list shop bronze.orders` lists"
        " them"
    )
    assert lines[4] == "orders: '0.csv' empty: it has no record"
    assert lines[7] == "orders: 97 more files empty (100 in all)"
    assert lines[13].startswith("orders: and 95 more fields are new: `weir account shop --json` lists them")


def test_one_more_is_singular() -> None:
    notices = Notices("shop")
    notices.add_files("bronze.orders", [(f"{number}.gz", "broken") for number in range(4)], [])

    assert notices.say("bronze.orders")[3].startswith("orders: 1 more file unreadable (4 in all)")
