"""Regular expressions are judged as Java's, as far as can be told without it."""

import pytest

from spark_jobs.config.regexes import judge_regex


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Z]{2}[0-9]+$",
        r"^\p{L}+\P{Digit}\h*$",
        r"(?<year>\d{4})-\k<year>",
        r"\Q(not a group\E.*",
        r"[a-z&&[^aeiou]]+",
        r"(?<=ab|c)d",
        r"a(?i)b(?-i:c)",
        r"\(?P<",
        r"\x{1F600}\R\z",
    ],
)
def test_what_java_reads_passes(pattern: str) -> None:
    assert judge_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "not a regular expression"),
        ("[a-", "not a regular expression"),
        ("*a", "not a regular expression"),
        ("(?P<year>x)", "'(?P<' is not known"),
        ("a(?#why)b", "'(?#' is not known"),
        (r"(a)?(?(1)b|c)", "'(?(' is not known"),
        (r"\\(", "not a regular expression"),
    ],
)
def test_what_java_cannot_read_is_named(pattern: str, message: str) -> None:
    wrong = judge_regex(pattern)

    assert wrong is not None
    assert message in wrong[0]
