"""Judges the forms of dates and times in SQL, as in date_format(at, 'yyyy-MM'): one that Spark refuses would
fail on every row.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType

from spark_jobs.config.names import shorten
from spark_jobs.config.sql import Complaint, tokens_in

READING = frozenset(
    [
        *("to_date", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "to_unix_timestamp"),
        *("try_to_date", "try_to_timestamp", "unix_timestamp"),
    ]
)
WRITING = frozenset({"date_format"})
"""Functions whose second argument is a form: by which text is read as a time, or a time written as text."""
MOST = {
    **dict.fromkeys("aF", 1),
    **dict.fromkeys("dHhKkmsV", 2),
    **dict.fromkeys("GMLEQqzOv", 4),
    **dict.fromkeys("XxZ", 5),
    **{"D": 3, "S": 9, "y": 6, "g": 19},
}
"""The letters of a form, and how often each may stand side by side."""
ONLY_SO_OFTEN = {"V": (2,), "O": (1, 4), "v": (1, 4)}
INSTEAD = {
    "T": "a letter that is meant as such stands in quotes, as in \"yyyy-MM-dd'T'HH:mm:ss\"",
    "Y": "the year is yyyy; that of the week is extract(YEAROFWEEK FROM …)",
    "w": "the week is extract(WEEK FROM …)",
    "n": "fractions of a second are S, as in ss.SSSSSS",
}
ONLY_WRITTEN = frozenset("EFqQ")
"""A weekday or a quarter can be written; read, they decide no day."""
HINT = (
    "letters are y (year), M (month), d (day), H (hour), m (minute), s (second), S (fraction) and the like;"
    " what is meant as such stands in quotes"
)


def judge_forms(text: str) -> list[Complaint]:
    """What is wrong with the forms that are written out in it: (message, hint) each."""
    return [
        (f"the form {shorten(form)} of {name} cannot be used: {wrong[0]}", wrong[1])
        for name, form in _forms(text)
        if (wrong := judge_form(form, is_read=name in READING)) is not None
    ]


def judge_form(form: str, *, is_read: bool) -> Complaint | None:
    """Of one form, by which text is read or a time is written."""
    plain = re.sub(r"'(?:[^']|'')*'", "", form)
    if "'" in plain:
        return "a quote is opened and never closed", "a quote that is meant as such is written twice"
    if reserved := re.search("[{}#]", plain):
        return f"{reserved[0]} means nothing", HINT
    if any(plain[:at].count("[") <= plain[:at].count("]") for at, mark in enumerate(plain) if mark == "]"):
        return "a ] has no [ before it", HINT
    letters = [(run[1], len(run[0])) for run in re.finditer(r"([A-Za-z])\1*", plain)]
    return next(
        (wrong for letter, times in letters if (wrong := _judge_letter(letter, times, is_read=is_read))), None
    )


def _judge_letter(letter: str, times: int, *, is_read: bool) -> Complaint | None:
    if letter not in MOST:
        return f"{letter} is no letter of a form", INSTEAD.get(letter, HINT)
    if is_read and letter in ONLY_WRITTEN:
        return f"{letter} cannot be read", "take it out of the text first, or leave it out"
    if times in ONLY_SO_OFTEN.get(letter, range(1, MOST[letter] + 1)):
        return None
    return f"{letter} stands {times} times", f"write {letter * MOST[letter]}, or fewer"


def _forms(text: str) -> Iterator[tuple[str, str]]:
    """The functions that take a form as their second argument, where that is a text written out, and it."""
    tokens = tokens_in(text)
    for place, (word, behind) in enumerate(pairwise(tokens)):
        name = word.text.lower()
        if name in READING | WRITING and behind.token_type is TokenType.L_PAREN:
            second = _second_argument(tokens[place + 2 :])
            if len(second) == 1 and second[0].token_type in (TokenType.STRING, TokenType.RAW_STRING):
                yield name, second[0].text


def _second_argument(tokens: Sequence[Token]) -> list[Token]:
    """Of those behind the opening parenthesis of a call."""
    depth, arguments = 0, 0
    found: list[Token] = []
    for token in tokens:
        if depth == 0 and token.token_type is TokenType.R_PAREN:
            break
        if depth == 0 and token.token_type is TokenType.COMMA:
            arguments += 1
        elif arguments == 1:
            found.append(token)
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
    return found
