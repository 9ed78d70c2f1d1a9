"""One is singular: a number and its noun are put together by config/text.count alone."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("spark_jobs", "service", "dags", "plugins")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
NOUNS = re.compile(
    r"^ (more |new |old"
    r" )?(tables|files|rows|records|fields|keys|messages|batches|partitions|problems)(?![\\w/])"
)


def wrong_plurals(text: str) -> Iterator[int]:
    """The lines of f-strings in which a plural follows a number that may be one."""
    for node in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.JoinedStr)):
        for value, after in pairwise(node.values):
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(after, ast.Constant)
                and NOUNS.match(str(after.value))
            ):
                yield node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_message_has_a_plural_after_a_number_that_may_be_one(path: Path) -> None:
    assert list(wrong_plurals(path.read_text(encoding="utf-8"))) == []


def test_such_a_message_is_found() -> None:
    assert list(wrong_plurals("f'{len(done)} tables'\nf'{number:,} more files'\nf'{rate:,.0f} rows/s'")) == [
        1,
        2,
    ]
