"""YAML is read strictly, with the line of every key."""

from pathlib import Path

import pytest

from spark_jobs.config.document import Document, read_document
from spark_jobs.config.errors import ConfigError, Problem


def read(tmp_path: Path, content: str | bytes) -> Document:
    path = tmp_path / "x.yml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document(path, "conf/x.yml")


def refusal(tmp_path: Path, content: str | bytes) -> Problem:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, content)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].file == "conf/x.yml"
    return caught.value.problems[0]


def test_words_and_dates_stay_text(tmp_path: Path) -> None:
    document = read(tmp_path, "on: yes\nno: off\nday: 2024-01-01\ntime: 12:30\noctal: 010\nversion: '1'\n")

    assert document.data == {
        "on": "yes",
        "no": "off",
        "day": "2024-01-01",
        "time": "12:30",
        "octal": 10,
        "version": "1",
    }


def test_numbers_booleans_and_nothing_are_values(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 12\nb: -1.5\nc: true\nd: False\nf: null\ng: ~\nh: []\n")

    assert document.data == {"a": 12, "b": -1.5, "c": True, "d": False, "f": None, "g": None, "h": []}


def test_every_key_and_item_has_its_line(tmp_path: Path) -> None:
    document = read(tmp_path, "# title\na:\n  b: {c: 1,\n      d: 2}\n  list:\n    - x\n    - y\n")

    assert document.lines[("a",)] == 2
    assert document.lines[("a", "b", "d")] == 4
    assert document.lines[("a", "list", 1)] == 7
    assert document.line_of(["a", "b", "missing", "deeper"]) == 3
    assert document.line_of(["z"]) == 1


def test_an_alias_stands_for_its_whole_value(tmp_path: Path) -> None:
    assert read(tmp_path, "a: &shared {x: 1}\nb: *shared\n").data == {"a": {"x": 1}, "b": {"x": 1}}


@pytest.mark.parametrize(
    ("content", "line", "value", "message", "hint"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "a", "'a' stands here twice, first in line 1", "keep one"),
        ("a:\n  x: 1\n  x: 2\n", 3, "x", "'x' stands here twice", "keep one"),
        ("a: 1\nkey:\nb: 2\n", 2, None, "nothing stands behind 'key'", "give it a value, or remove it"),
        (
            "a: 1\nb: {key: , c: 2}\n",
            2,
            None,
            "nothing stands behind 'key'",
            "write null where none is meant",
        ),
        ("a: 1\nb: {key}\n", 2, None, "nothing stands behind 'key'", "give it a value"),
        ("a:\n- x\n-\n", 3, None, "an item of the list is empty", "give it a value"),
        ("a: 1\n12: 2\n", 2, "12", "'12' is not a word", "quotes"),
        ("a: 1\ntrue: 2\n", 2, "true", "'true' is not a word", "quotes"),
        ("a: 1\n\tb: 2\n", 2, "b: 2", "a tab", "spaces"),
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "c: 3", "not valid YAML", "indentation"),
        ("a: 1\nschedule: */15 * * * *\n", 2, "schedule: */15 * * * *", "not valid YAML", 'schedule: "*/15'),
        ("a: 1\n---\nb: 2\n", 2, "---", "a second document", "one document"),
        ("- a\n", 1, None, "a sequence, not a mapping", "key: value"),
        ("", 1, None, "empty, not a mapping", "key: value"),
        ("# only this\n", 1, None, "empty, not a mapping", "key: value"),
        (
            "a: !!python/name:os.system x\n",
            1,
            "tag:yaml.org,2002:python/name:os.system",
            "tag",
            "without tags",
        ),
        ("a: !!int x\n", 1, "x", "not a value of !!int", "remove the tag"),
        ("base: &b {x: 1}\na:\n  <<: *b\n", 3, "<<", "merge", "write the keys out"),
        (b"a: 1\nb: \xff\n", 2, 255, "not UTF-8", "UTF-8"),
    ],
)
def test_what_is_not_a_plain_mapping_is_refused(
    tmp_path: Path, content: str | bytes, line: int, value: object, message: str, hint: str
) -> None:
    problem = refusal(tmp_path, content)

    assert (problem.line, problem.value) == (line, value)
    assert message in problem.message
    assert hint in problem.hint


def test_an_alias_bomb_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"] + [
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)
    ]

    problem = refusal(tmp_path, "\n".join(levels))

    assert "more than 100,000 values" in problem.message
    assert "aliases" in problem.hint


def test_an_alias_that_contains_itself_is_refused(tmp_path: Path) -> None:
    assert "contains itself" in refusal(tmp_path, "a: &a\n  b: *a\n").message


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_endless_nesting_is_refused(tmp_path: Path, opening: str) -> None:
    problem = refusal(tmp_path, "a:\n  " + opening * 200_000)

    assert "deeper than 40 levels" in problem.message


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    problem = refusal(tmp_path, "a: " + "x" * 1_000_001)

    assert "1,000,004 bytes or more, and at most 1,000,000 are read" in problem.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(tmp_path / "none.yml", "conf/none.yml")

    assert str(caught.value).startswith("conf/none.yml:1: the file cannot be read: No such file")
