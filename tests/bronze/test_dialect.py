"""CSV as it comes: without a header, with lines before it, comments, other quotes, escapes, and delimiters at the
end of lines. Whatever is declared, the second count of a file agrees.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.bronze import counting, lines
from spark_jobs.bronze.counting import Count, count_records
from spark_jobs.config.sources import FileSource
from spark_jobs.landing.content import open_landed
from tests.bronze.arrive import arrived, read, refusal, written

A_B = '{"a": "1", "b": "2"}'


def counted(file: Path, **keys: Any) -> Count | None:
    """By the second count alone."""
    source = FileSource.model_validate({"format": "csv", "path": "in", **keys})
    with open_landed(str(file)) as opened:
        return count_records(opened, arrived(file), source)


@pytest.mark.parametrize(
    ("keys", "content", "found"),
    [
        ({"header": ["a", "b"]}, "1,2\n", [(1, A_B, None)]),
        (
            {"header": False},
            "1,2\n3,4\n",
            [(1, '{"1": "1", "2": "2"}', None), (2, '{"1": "3", "2": "4"}', None)],
        ),
        (
            {"header": ["a", "b"]},
            "1\n1,2\n",
            [(1, '["1"]', "1 field, its source names 2"), (2, A_B, None)],
        ),
        (
            {"header": False},
            "1\n1,2\n",
            [(1, '{"1": "1"}', None), (2, '["1", "2"]', "2 fields, the first row has 1")],
        ),
        ({"skip_lines": 2}, 'Report of "today\n\na,b\n1,2\n', [(4, A_B, None)]),
        ({"skip_lines": 1, "header": ["a", "b"]}, "b;a\r\n1,2\r\n", [(2, A_B, None)]),
        ({"skip_lines": 1}, "Report\ra,b\r1,2\r", [(3, A_B, None)]),
        ({"skip_lines": 5}, "Report\na,b\n1,2\n", []),
        ({"comment": "#"}, "# all\na,b\n# it is\n1,2\n#\n", [(4, A_B, None)]),
        ({"comment": "#"}, "# a\rb\na,b\n1,2", [(3, A_B, None)]),
        (
            {"comment": "#"},
            "a,b\n1,#2\n #1,2\n",
            [(2, '{"a": "1", "b": "#2"}', None), (3, '{"a": " #1", "b": "2"}', None)],
        ),
        ({"comment": "#"}, 'a\n"x\n#y"\n# "\n', [(3, '{"a": "x\\n#y"}', None)]),
        ({"quote": "'"}, "a,b\n'1','2'\n", [(2, A_B, None)]),
        ({"quote": "'"}, "a\n'it''s \"x\", y'\n", [(2, '{"a": "it\'s \\"x\\", y"}', None)]),
        ({"quote": "none"}, 'a,b\n"1,2"\n', [(2, '{"a": "\\"1", "b": "2\\""}', None)]),
        (
            {"escape": "\\"},
            'a\n"say \\"hi\\", and ""ho"""\n',
            [(2, '{"a": "say \\"hi\\", and \\"ho\\""}', None)],
        ),
        ({"escape": "\\"}, "a,b\nx\\,y,C:\\new\\\\\n", [(2, '{"a": "x,y", "b": "C:\\\\new\\\\"}', None)]),
        ({"escape": "\\"}, 'a\n"x\\\ny"\n', [(3, '{"a": "x\\\\\\ny"}', None)]),
        (
            {"quote": "none", "escape": "\\"},
            'a,b\n"\\,",\\"\n',
            [(2, '{"a": "\\",\\"", "b": "\\\\\\""}', None)],
        ),
        ({"trailing_delimiter": True}, "a,b,\n1,2,\n", [(2, A_B, None)]),
        ({"trailing_delimiter": True}, "a,b\n1,2,,\n1,2\n", [(2, A_B, None), (3, A_B, None)]),
        (
            {"trailing_delimiter": True},
            "a,b,\n1,2\n1,2,3\n",
            [
                (2, '["1", "2"]', "2 fields, the header has 2 and a delimiter behind them"),
                (3, '["1", "2", "3"]', "3 fields, the header has 2 and a delimiter behind them"),
            ],
        ),
        ({"trailing_delimiter": True, "header": ["a", "b"]}, "1,2,\n1,2\n", [(1, A_B, None), (2, A_B, None)]),
        ({"trailing_delimiter": True, "header": False}, "1,,\n", [(1, '{"1": "1", "2": ""}', None)]),
    ],
)
def test_a_file_is_read_as_its_source_says(
    tmp_path: Path, keys: dict[str, Any], content: str, found: list[Any]
) -> None:
    assert read(written(tmp_path, "a.csv", content.encode()), "csv", **keys) == found


@pytest.mark.parametrize(
    ("keys", "content", "reason"),
    [
        ({}, "a,b,\n1,2,\n", "where each line ends with a delimiter, write trailing_delimiter: true"),
        ({"trailing_delimiter": True}, "a,,b,\n1,2,3,\n", "the header has an empty or repeated name"),
        ({"escape": "\\"}, 'a\n"x\\"\n', "line 2: a quote is opened and never closed"),
        ({"quote": "'"}, "a\n'x'y\n", "line 2: text follows a closing quote"),
        ({"header": ["a"]}, "1\n" + "1,2\n" * 1001, "than `header` of the source names"),
    ],
)
def test_a_file_that_is_other_than_its_source_says_is_refused(
    tmp_path: Path, keys: dict[str, Any], content: str, reason: str
) -> None:
    assert reason in refusal(read(written(tmp_path, "a.csv", content.encode()), "csv", **keys))


@pytest.mark.parametrize("block_bytes", [1, 7, 1024])
@pytest.mark.parametrize("keys", [{"quote": "'", "escape": "\\", "comment": "#"}, {"quote": "none"}])
def test_rows_and_comments_that_are_too_long_take_no_others_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, keys: dict[str, Any]
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    long = b"x" * 1500
    of_quotes = b"1,'it\\'s " + long + b"\\'\n, \\'\n'\n#" + long + b"'\n"
    of_none = b'1,"' + long + b"\n" * 3
    rows = of_quotes if "comment" in keys else of_none
    found = read(
        written(tmp_path, "a.csv", b"a,b\n" + rows + b"2,fine\n"), "csv", bytes_per_record=1000, **keys
    )
    assert [(line, record) for line, record, _ in found] == [
        (4 if "comment" in keys else 2, None),
        (6 if "comment" in keys else 5, '{"a": "2", "b": "fine"}'),
    ]


def test_the_second_count_agrees_however_its_blocks_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn files and dialects: what is read is what is counted, where there is a count."""
    draw, compared = random.Random(11), 0
    for number in range(400):
        keys: dict[str, Any] = {
            "header": draw.choice([True, False, ["a", "b"]]),
            "skip_lines": draw.choice([0, 0, 1, 3]),
            "quote": draw.choice(['"', "none"]),
            **draw.choice([{}, {"comment": "#"}]),
        }
        end = draw.choice(["\n", "\r\n", "\r"])
        parts = draw.choices(["1,2", "#c", "#", "", "x#,y", "é,# z", " "], k=draw.randrange(12))
        first = ["p"] * keys["skip_lines"] + (["a,b"] if keys["header"] is True else [])
        content = end.join([*first, *parts]) + draw.choice(["", end])
        file = written(tmp_path, f"{number}.csv", content.encode())
        monkeypatch.setattr(counting, "BLOCK_BYTES", draw.randrange(1, 9))
        count, found = counted(file, **keys), read(file, "csv", **keys)
        compared += count is not None
        assert count is None or count.least <= len(found) <= count.most, (content, keys, found)
    assert compared == 400
