"""Rules that are taken for good without Great Expectations, asked of it: it must have nothing against any of
them.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from spark_jobs.config import plain_rules
from spark_jobs.config.expectation_types import OWN
from spark_jobs.config.expectations import Rule
from spark_jobs.config.loading import load_project
from spark_jobs.config.plain_rules import PLAIN, PLAIN_PATTERN, are_plain, is_pattern, is_plain
from spark_jobs.quality.check import judge_rule, usable_types
from spark_jobs.quality.patterns import explain_pattern

NUMBERS = st.one_of(st.integers(-(10**15), 10**15), st.floats(-1e15, 1e15))
TEXTS = st.text(min_size=1, max_size=8)
PLAIN_VALUES: dict[plain_rules.Kind, st.SearchStrategy[Any]] = {
    plain_rules.is_text: TEXTS,
    plain_rules.is_flag: st.booleans(),
    plain_rules.is_number: NUMBERS,
    plain_rules.is_count: st.integers(0, 10**15),
    plain_rules.is_share: st.one_of(st.integers(0, 1), st.floats(0, 1)),
    plain_rules.is_set: st.one_of(
        st.lists(TEXTS, min_size=1, max_size=3), st.lists(NUMBERS, min_size=1, max_size=3)
    ),
    plain_rules.is_columns: st.lists(TEXTS, min_size=2, max_size=3),
    plain_rules.is_pattern: st.from_regex(PLAIN_PATTERN, fullmatch=True).filter(is_pattern),
    plain_rules.is_query: st.just("SELECT * FROM {batch} WHERE amount < 0"),
    plain_rules.is_spark: st.just("spark"),
}
OTHER_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.text(max_size=3),
    st.just({}),
    st.lists(st.one_of(st.none(), NUMBERS, TEXTS), max_size=2),
)
A_FEW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.mark.parametrize("kind", PLAIN)
@A_FEW
@given(data=st.data())
def test_great_expectations_has_nothing_against_a_plain_rule(kind: str, data: st.DataObject) -> None:
    known = PLAIN[kind]
    allowed = data.draw(
        st.sets(st.sampled_from(sorted(known.allowed))) if known.allowed else st.just(set[str]())
    )
    kinds = {**known.needed, **{name: known.allowed[name] for name in sorted(allowed)}}
    kwargs = {name: data.draw(PLAIN_VALUES[of], label=name) for name, of in kinds.items()}
    assume(is_plain(kind, kwargs))

    assert list(judge_rule(kind, kwargs)) == []


@pytest.mark.parametrize("kind", PLAIN)
@A_FEW
@given(data=st.data())
def test_what_is_plain_with_any_value_is_plain_to_great_expectations(kind: str, data: st.DataObject) -> None:
    known = PLAIN[kind]
    kwargs = {name: data.draw(PLAIN_VALUES[of], label=name) for name, of in known.needed.items()}
    for name in data.draw(
        st.lists(st.sampled_from([*known.needed, *known.allowed, "colum"]), max_size=3, unique=True)
    ):
        kwargs[name] = data.draw(OTHER_VALUES, label=name)

    assert not is_plain(kind, kwargs) or list(judge_rule(kind, kwargs)) == []


@settings(max_examples=200, deadline=None)
@given(pattern=st.from_regex(PLAIN_PATTERN, fullmatch=True))
@example("^[^@\\s<>]+@[^@\\s<>]+\\.[a-z]{2,}$")
def test_re2_reads_every_plain_pattern(pattern: str) -> None:
    assert not is_pattern(pattern) or explain_pattern(pattern) is None


@pytest.mark.parametrize(
    "pattern", ["a++", "(?#a)b", "\\u0041", "(?=a)", "[[:alpha:]]", "a{2}{3}", "(", "a{1001}", "\\pN"]
)
def test_a_pattern_that_engines_may_read_otherwise_is_left_to_re2(pattern: str) -> None:
    assert not is_pattern(pattern)


@pytest.mark.parametrize(
    ("kind", "kwargs"),
    [
        ("expect_column_values_to_not_be_nul", {"column": "amount"}),
        ("expect_column_values_to_not_be_null", {}),
        ("expect_column_values_to_not_be_null", {"column": 1}),
        ("expect_column_values_to_not_be_null", {"column": "amount", "mostly": 1.5}),
        ("expect_column_values_to_not_be_null", {"column": "amount", "most": 0.5}),
        ("expect_column_values_to_be_between", {"column": "amount"}),
        ("expect_column_values_to_be_between", {"column": "amount", "min_value": "0"}),
        ("expect_column_values_to_be_between", {"column": "amount", "min_value": float("nan")}),
        ("expect_column_values_to_be_in_set", {"column": "status", "value_set": []}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["order_id"]}),
        ("unexpected_rows_expectation", {"unexpected_rows_query": "SELECT '{' FROM {batch}"}),
    ],
)
def test_a_rule_that_may_be_refused_is_left_to_great_expectations(kind: str, kwargs: dict[str, Any]) -> None:
    assert not is_plain(kind, kwargs)


def test_the_table_is_of_the_installed_version_and_of_types_that_can_be_used() -> None:
    import great_expectations

    assert great_expectations.__version__ == plain_rules.KNOWN_VERSION
    assert set(PLAIN) <= set(usable_types())


def test_beside_another_version_no_rule_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_rules, "version", lambda _: "1.25.0")
    plain_rules._is_of_known_version.cache_clear()

    assert not is_plain("expect_column_to_exist", {"column": "amount"})

    monkeypatch.undo()
    plain_rules._is_of_known_version.cache_clear()
    assert is_plain("expect_column_to_exist", {"column": "amount"})


def test_weir_s_own_types_need_no_great_expectations() -> None:
    rules = [Rule("a_rule", kind, {}, "warn", "info", "It must be so.") for kind in OWN]

    assert are_plain(rules)


def test_every_rule_of_the_shipped_project_is_plain() -> None:
    rules = [
        rule
        for tables in load_project(environ={}).rules.values()
        for found in tables.values()
        for rule in found
    ]

    assert rules
    assert [rule.name for rule in rules if not are_plain([rule])] == []
