"""The patterns that are left to Java's engine are those with which it surely comes to an end, in time and
without calling itself.
"""

import pytest

from spark_jobs.config.plain_patterns import plain_java


@pytest.mark.parametrize(
    ("pattern", "java"),
    [
        ("^/", r"\A\x{2f}"),
        ("^[A-Z]{2}-[0-9]+$", r"\A[\x{41}-\x{5a}]{2,2}\x{2d}[\x{30}-\x{39}]{1,}\z"),
        ("^(a|b)*$", r"\A[\x{61}-\x{62}]{0,}\z"),
        (r"\s|x", r"[\x{9}-\x{a}\x{c}-\x{d}\x{20}-\x{20}\x{78}-\x{78}]"),
        ("^on$|^off$", r"\A\x{6f}\x{6e}\z|\A\x{6f}\x{66}\x{66}\z"),
        ("^A-|^B-", r"\A\x{41}\x{2d}|\A\x{42}\x{2d}"),
        (
            r"^[^@\s]+@x$",
            r"\A[\x{0}-\x{8}\x{b}-\x{b}\x{e}-\x{1f}\x{21}-\x{3f}\x{41}-\x{10ffff}]{1,}\x{40}\x{78}\z",
        ),
    ],
)
def test_a_plain_pattern_is_written_out_for_java(pattern: str, java: str) -> None:
    assert plain_java(pattern) == java


@pytest.mark.parametrize(
    "pattern",
    [
        "^(?:ab|c)*$",
        r"^(\w+\s?)*$",
        r"\s+$",
        "^[a-z]*[a-z0-9]*$",
        "^.+@.+$",
        "^a?a?a?a?a?a?a?a?$",
        "^.{1,5000}$",
        "(?i)^abc$",
        r"\bword\b",
        r"^\p{L}+$",
        "[[:alpha:]]",
        "a{,3}",
    ],
)
def test_what_might_go_back_or_mean_something_else_is_not_plain(pattern: str) -> None:
    assert plain_java(pattern) is None
