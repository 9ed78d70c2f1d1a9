"""Header lines and comments of text: they are records of bronze, and filtered in every table."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.spark

COLUMNS = {"line": {"type": "string", "from": "value"}, "day": "date"}


def test_header_lines_and_comments_are_filtered_whatever_they_say(
    decode_records: Callable[..., list[Any]],
) -> None:
    lines = ["day", "day=2024-01-01", "#day=x", "# day", " #", "day=y"]

    how = {"fields": r"day=(?P<day>\S+)", "skip_lines": 1, "comment": "#", "required": ("day",)}
    found = decode_records(lines, COLUMNS, "text", **how)

    assert [([rule for rule, _, _ in reasons], is_filtered) for _, reasons, is_filtered in found] == [
        ([], True), ([], False), ([], True), ([], True), (["decodable"], False), (["type date"], False),
    ]  # fmt: skip


def test_a_header_line_that_is_no_text_is_filtered_as_well(decode_records: Callable[..., list[Any]]) -> None:
    found = decode_records(
        ["day \\xe9", "x"], {"line": COLUMNS["line"]}, "text", problem="not UTF-8 text", skip_lines=1
    )

    assert [([rule for rule, _, _ in reasons], is_filtered) for _, reasons, is_filtered in found] == [
        ([], True),
        (["readable"], False),
    ]
