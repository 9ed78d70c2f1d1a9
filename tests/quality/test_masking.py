"""Sensitive values do not come through, whatever the record looks like; all others do."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.config.sensitive_fields import Names
from spark_jobs.quality.masking import mask_problem, mask_reasons, mask_record

TOKEN = {("user", "token")}


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (
            '{"id": 1, "user": {"token": "s3cret", "name": "Zoë"}}',
            '{"id": 1, "user": {"token": "•••", "name": "Zoë"}}',
        ),
        ('{"user": {"TOKEN": 123456}}', '{"user": {"TOKEN": "•••"}}'),
        ('{"user": {"token": {"deep": ["s3cret"]}}}', '{"user": {"token": "•••"}}'),
        (
            '{"user": [{"token": "s3cret", "n": 1}, {"n": 2}]}',
            '{"user": [{"token": "•••", "n": 1}, {"n": 2}]}',
        ),
        ('{"user": "s3cret"}', '{"user": "•••"}'),
        ('{"user": ["s3cret", null]}', '{"user": ["•••", null]}'),
        ('{"user": {"token": null}}', '{"user": {"token": null}}'),
        ('{"user": {"token": "a", "token": "s3cret"}}', '{"user": {"token": "•••"}}'),
        ('{"half": "\\\\\\ud83d", "\\udc00": 1}',) * 2,
        ('{"price": 12.50, "big": 123456789012345678901234567890, "odd": NaN}',) * 2,
    ],
)
def test_a_field_is_masked_by_its_path_and_the_rest_stays(record: str, shown: str) -> None:
    assert mask_record(record, TOKEN) == shown


HARMLESS = st.none() | st.booleans() | st.integers() | st.just("fine")
ANY_VALUE = st.recursive(
    HARMLESS | st.just("s3cret"),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["token", "TOKEN", "Token"]), inner),
)


def test_a_record_that_nests_deeply_at_the_path_is_masked_as_any_other() -> None:
    for depth in (100, 600, 900, 5_000):
        shown = mask_record(f'{{"user": {"[" * depth}"s3cret"{"]" * depth}}}', TOKEN)

        assert shown is not None
        assert "s3cret" not in shown


@given(ANY_VALUE)
def test_a_secret_does_not_come_through_whatever_stands_at_its_path(value: Any) -> None:
    masked = mask_record(json.dumps({"id": 1, "user": value}), TOKEN)

    assert masked is not None
    assert "s3cret" not in masked
    assert json.loads(masked)["id"] == 1


@pytest.mark.parametrize(
    "record",
    [
        '{"user": {"token": "s3cret"',
        '["1", "s3cret"]',
        '{"user": {}} s3cret',
        "s3cret",
        "",
        "[" * 100_000,
        '"s3cret"',
        "1" * 5_000,
    ],
)
def test_a_record_that_cannot_be_understood_is_masked_as_a_whole(record: str) -> None:
    assert mask_record(record, TOKEN) == "•••"


def test_a_text_record_is_masked_as_a_whole() -> None:
    assert mask_record('{"a": 1}', {()}) == "•••"


def test_without_sensitive_columns_records_stay_byte_by_byte() -> None:
    assert [mask_record(record, set()) for record in ('{ "a" :1}', "broken {", None)] == [
        '{ "a" :1}',
        "broken {",
        None,
    ]


def test_reasons_lose_the_values_of_sensitive_columns() -> None:
    reasons: list[dict[str, Any]] = [
        {"rule": "type bigint", "column": "age", "value": "old"},
        {"rule": "email_is_good", "column": "Email", "value": "a@b"},
        {"rule": "member of people", "column": "id, email", "value": "1, a@b"},
        {"rule": "required", "column": "email", "value": None},
        {"rule": "decodable", "column": None, "value": "not one JSON object"},
        {"rule": "some_rule", "column": None, "value": "a@b"},
    ]

    assert [reason["value"] for reason in mask_reasons(reasons, Names(["email"]))] == [
        "old", "•••", "•••", None, "not one JSON object", "•••",
    ]  # fmt: skip
    assert mask_reasons(reasons, Names()) == reasons
    assert mask_reasons(None, Names(["email"])) == []


def test_the_problem_of_a_file_is_told_without_what_it_quotes() -> None:
    problem = "UnreadableFile: the header has an empty or repeated name: ['Ada']"

    assert mask_problem(problem, TOKEN) == "UnreadableFile: the header has an empty or repeated name: •••"
    assert mask_problem(problem, set()) == problem
