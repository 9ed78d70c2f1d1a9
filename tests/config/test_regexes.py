"""Regular expressions are judged as RE2's in rules and as Java's in SQL, as far as can be told without
either.
"""

import time
from collections.abc import Callable

import pytest

from spark_jobs.config.regexes import Judgement, judge_java_regex, judge_line_regex, judge_regex


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Z]{2}[0-9]+$",
        r"^\p{L}+[[:digit:]]*$",
        r"(?<year>\d{4})|(?P<month>\d{2})",
        r"\Q(not a group\E.*",
        r"a(?i)b(?-i:c)",
        r"\(?P<",
        r"\x{1F600}\z",
        r"^(?:[a-z]|[0-9])+$",
        r"[*+]+",
        r"[^\[\]]{1,1000}",
    ],
)
def test_what_re2_reads_passes(pattern: str) -> None:
    assert judge_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "not a regular expression"),
        ("[a-", "not a regular expression"),
        ("*a", "not a regular expression"),
        (r"\\(", "not a regular expression"),
        ("^(?!test)", "looks ahead"),
        ("(?<=a)b", "looks back"),
        ("a(?#why)b", "comment"),
        (r"(a)\1", "repeats a group"),
        (r"(?<a>x)\k<a>", "repeats a group"),
        ("a++", "possessive"),
        (r"\p{Alpha}", "does not know this class"),
        (r"\h", "does not know this escape"),
        (r"x\Z", r"\Z"),
        ("[a-z&&[^b]]", "intersection"),
        ("[a[b]]", "class within a class"),
        ("a{1,1001}", "further than 1000"),
        (r"\\{99999999999}", "further than 1000"),
    ],
)
def test_what_re2_cannot_read_or_takes_for_something_else_is_named(pattern: str, message: str) -> None:
    wrong = judge_regex(pattern)

    assert wrong is not None
    assert message in wrong[0]


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\p{Alpha}+\P{Digit}\h*$",
        r"(?<year>\d{4})-\k<year>",
        r"[a-z&&[^aeiou]]+",
        r"(?<=ab|c)d",
        r"\x{1F600}\R\z",
        r"(\d+)-(\d+)",
        "(?:ab|c)*+",
        "(ab){2,5}(c)?",
        r"\)*[)]+\Q)*\E",
        ".{0,200}[0-9]{1,5000}x{2,}",
        r"(\d{1,3}\.){3}\d{1,3}",
        "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$",
        "(?:[a-z]+,){0,50}",
        "(?:ab|cd){0,100}",
        "(?:(?:aa|a){0,200}+;){3}",
        "(?:[a-z]+ ?){1,3}",
        "(?:[A-Z][a-z]+){1,20}",
        r"(?i-x)a\(?x",
        r'^(\S+) (\S+) \[(.*?)\] "(.*?)" (\d+) (\d+)$',
        r"^\s*(\w+)\s*=\s*(\w+)\s*;\s*(\w+)\s*$",
        r"(?=.*a)(?=.*b)(?=.*c)(?=.*\d).{8,}",
        "[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,",
        "[a-z]*+[a-z]*+[a-z]*+[a-z]*+[a-z]*+b",
        r"(?:.*?,){2}\d+$",
    ],
)
def test_what_java_reads_and_ends_with_passes(pattern: str) -> None:
    assert judge_java_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "not a regular expression"),
        ("(?P<year>x)", "'(?P<' is not known"),
        (r"(a)?(?(1)b|c)", "'(?(' is not known"),
        ("^(a|b)*$", "repeats a group"),
        ("^(?:[a-z]|[0-9])+?x", "repeats a group"),
        ("(ab){2,}", "repeats a group"),
        (r"^\X*$", "repeats a group"),
        ("(?=((a+)+))b", "repeats a group"),
        (".{0,5000}x", "counts too far"),
        ("((ab){0,20}){0,20}", "counts too far"),
        ("^(a|b){3000}", "counts too far"),
        ("(?:[a-z]|-){300}?x", "counts too far"),
        ("(a|bc){0,200}(d|ef){0,200}", "counts too far"),
        ("(?x) ^( a | b ) * $", "hide what is repeated"),
        ("(?ix: ( a | b ) * )", "hide what is repeated"),
        (r"(?:a|b)\Q\E*", "hide what is repeated"),
        ("^(?:aa|a){0,200}$", "may take for ever"),
        ("^(?:[a-z]+,?){0,50}$", "may take for ever"),
        ("(?:a{0,20}){0,20}", "may take for ever"),
        ("(?i)(?:aa|A){0,40}", "may take for ever"),
        ("((?:ab|a|b){2}){0,60}", "may take for ever"),
        (".*a.*a.*a.*a.*b", "repetitions that give back"),
        (r"^(.*?)\|(.*?)\|(.*?)\|(.*?)\|", "repetitions that give back"),
        (r"a*(?:a*)a{0,90}a?[a-c]+c", "repetitions that give back"),
        ("(?i)x*X*[A-Z]*y*[a-z]*Y", "repetitions that give back"),
        ("(?>.*a.*a.*a.*b)", "repetitions that give back"),
        ("(?=.*a.*a.*a.*b)c", "repetitions that give back"),
    ],
)
def test_what_java_cannot_read_or_might_not_end_with_is_named(pattern: str, message: str) -> None:
    wrong = judge_java_regex(pattern)

    assert wrong is not None
    assert message in wrong[0]


def test_a_quantified_class_of_a_line_is_not_taken_for_a_possessive_one() -> None:
    assert judge_line_regex(r"(?P<name>[*+]+) (?P<rest>.*)") is None


@pytest.mark.parametrize("judge", [judge_regex, judge_java_regex, judge_line_regex])
@pytest.mark.parametrize(
    "pattern",
    ["a{99999999999}", r"\\{0,99999999999}", "a{" + "9" * 5000 + "}", "(" * 5000 + "a" + ")" * 5000],
)
def test_what_python_cannot_begin_to_read_is_an_error_like_any_other(
    judge: Callable[[str], Judgement], pattern: str
) -> None:
    wrong = judge(pattern)

    assert wrong is not None
    assert "counts further than" in wrong[0] or "too deep" in wrong[0]


@pytest.mark.parametrize("pattern", ["a" * 50_000, "a*" * 5_000, "[a-z]*," * 5_000])
def test_a_long_pattern_is_judged_in_time_proportional_to_it(pattern: str) -> None:
    started = time.process_time()

    judge_java_regex(pattern)

    assert time.process_time() - started < 5
