"""What a decision about a blocked batch is about."""

from dataclasses import replace

from spark_jobs.lake.blocked import Finding, Grounds

SEEN = Grounds(
    "c0ffee",
    7,
    (Finding("usual_mean", observed="25873.62"), Finding("known_kind", 7, 3)),
    {"silver.orders": 3, "rules": "a"},
)


def test_the_same_seen_again_has_the_same_name_whatever_the_last_digits_of_a_mean_are() -> None:
    again = replace(
        SEEN,
        findings=(SEEN.findings[1], Finding("usual_mean", observed="25873.620000000003")),
        inputs={"silver.orders": 5},
    )

    assert again.id == SEEN.id
    assert SEEN.covers(again)
    assert Grounds.of_json(SEEN.as_json()) == SEEN


def test_a_decision_holds_for_fewer_failed_rules_but_for_no_other_content_finding_or_rule() -> None:
    assert SEEN.covers(replace(SEEN, findings=SEEN.findings[:1]))
    for other in (
        replace(SEEN, content="decaf"),
        replace(SEEN, findings=(Finding("usual_mean", observed="25874"),)),
        replace(SEEN, findings=(*SEEN.findings, Finding("row_count", observed="0"))),
    ):
        assert not SEEN.covers(other)
        assert other.id != SEEN.id


def test_a_whole_number_is_compared_to_its_last_digit() -> None:
    total = replace(SEEN, findings=(Finding("total", observed="98765432101"),))
    other = replace(SEEN, findings=(Finding("total", observed="98765432102"),))

    assert total.covers(total)
    assert not total.covers(other)
    assert total.id != other.id


def test_what_changed_is_said_in_words() -> None:
    findings = (Finding("usual_mean", observed="1.5"), Finding("row_count", observed="0"))
    now = Grounds("decaf", 9, findings, {"silver.orders": 4, "rules": "a"})

    said = (
        "7 rows then, 9 now; usual_mean: 25873.62 then, 1.5 now; row_count did not fail then; changed since:"
        " silver.orders"
    )
    assert SEEN.changes_to(now) == said
    assert SEEN.changes_to(replace(SEEN, content="decaf")) == "other rows"
