"""What is shown of data, file names and messages can do nothing to the terminal, the log or the spreadsheet
that shows it.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.config.text import JOINERS, plain, plain_lines, safe_cell

HOSTILE = {
    "\x1b[31mred\x1b[0m": "\\x1b[31mred\\x1b[0m",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "a\r\nerror: forged": "a\\r\\nerror: forged",
    "evil\u202egnp.exe": "evil\\u202egnp.exe",
    "\u2066hidden\u2069": "\\u2066hidden\\u2069",
    "a\u2028b\u0085c": "a\\u2028b\\x85c",
    "caf\udce9": "caf\\udce9",
    "\x00\x7f": "\\x00\\x7f",
    "\U000e0041tag": "\\U000e0041tag",
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.items())
def test_what_a_terminal_would_act_on_is_written_out(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert plain(text).isprintable()


@given(st.text())
def test_nothing_but_letters_and_joiners_comes_through(text: str) -> None:
    assert all(character.isprintable() or character in JOINERS for character in plain(text))


@pytest.mark.parametrize(
    "text", ["Grüße", "日本語", "مرحبا", "שלום", "می‌خواهم", "👩‍💻", "<b>&amp;</b>", "[bold]x[/bold]"]
)
def test_letters_of_every_script_stay(text: str) -> None:
    assert plain(text) == text


def test_a_long_text_is_cut_and_says_how_long_it_is() -> None:
    assert plain("x" * 1_000_000, 5) == "xxxxx…(1,000,000 characters)"
    assert plain("\x1b" * 9, 2) == "\\x1b\\x1b…(9 characters)"
    assert plain("short", 5) == "short"


def test_a_message_keeps_its_lines_and_nothing_else() -> None:
    assert plain_lines("one\n\ttwo\x1b[2J\rthree") == "one\n    two\\x1b[2J\\rthree"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "＝1+1", "=cmd|'/c calc'!A1", "-1+2"])
def test_a_spreadsheet_is_given_no_formula(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


def test_a_formula_behind_a_tab_or_a_line_end_is_none_either() -> None:
    assert [safe_cell(text) for text in ("\t=1", "\r=1", "\n=1")] == ["'\\t=1", "'\\r=1", "'\\n=1"]


@pytest.mark.parametrize("text", ["-12.50", "+3", "-1e5", "7", "a=b", "", "<script>alert(1)</script>"])
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert safe_cell(text) == text


def test_no_value_is_an_empty_cell() -> None:
    assert safe_cell(None) == ""
