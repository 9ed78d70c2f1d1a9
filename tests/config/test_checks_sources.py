"""Keys of a source that do not belong to its format, and expressions for log lines that cannot be used, are
refused.
"""

import re
from pathlib import Path

import pytest

from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.regexes import judge_line_regex
from spark_jobs.config.sources import FileSource
from tests.conftest import ROOT

SILVER = "silver: {t: {from: s, columns: {a: string}}}"


def problems(root: Path, source: str, rest: str = SILVER) -> list[str]:
    for folder, files in {
        "conf": {"lakehouse.yml": "landing: landing\nlake: lake\n"},
        "conf/pipelines": {},
    }.items():
        (root / folder).mkdir(exist_ok=True)
        for name, text in files.items():
            (root / folder / name).write_text(text, encoding="utf-8")
    if not (root / "conf" / "profiles").exists():
        (root / "conf" / "profiles").symlink_to(ROOT / "conf" / "profiles")
    (root / "conf" / "pipelines" / "p.yml").write_text(
        f"pipeline: p\nsources:\n  s: {source}\n{rest}\n", encoding="utf-8"
    )
    return [" ".join(str(problem).split()) for problem in check_folder(root, {})]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "{format: json, path: p, row_tag: a}",
            "sources.s.row_tag: 'row_tag' is incompatible with format: json remove it, or use format: xml",
        ),
        (
            "{format: csv, path: p, fields: '(?P<a>.*)'}",
            "sources.s.fields: 'fields' is incompatible with format: csv",
        ),
        ("{format: xml, path: p}", "sources.s: the key 'row_tag' is missing"),
        ("{format: text, path: p, fields: '(?P<b>.*)'}", "the fields of source 's' have no group 'a'"),
        (
            "{format: text, path: p, fields: '(?<a>.*)'}",
            "sources.s.fields: it is not a regular expression: unknown extension ?<a write (?P<name>…) for a field",
        ),
        (
            "{format: text, path: p, fields: '(.*)'}",
            "every group must be a field with a name write (?P<name>…)",
        ),
        (
            "{format: text, path: p, fields: '(?P<a>x)(?=y)'}",
            "'(?=' cannot be used here: it looks ahead, which may take for ever",
        ),
    ],
)
def test_a_source_is_refused_with_its_line_and_the_way_out(tmp_path: Path, source: str, said: str) -> None:
    found = problems(tmp_path, source)

    assert any(said in problem and problem.startswith("conf/pipelines/p.yml:") for problem in found), found


CSV = "format: csv, path: p"
BY_NUMBER = "silver: {t: {from: s, columns: {a: {type: string, from: 2}, b: string}}}"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{format: json, path: p, header: false}", "use format: csv"),
        (
            "{format: json, path: p, skip_lines: 1}",
            "'skip_lines' is incompatible with format: json remove it, or use format: csv or text",
        ),
        (
            f"{{{CSV}, comment: rem}}",
            "sources.s.comment: 'rem' is not one such character write one character",
        ),
        (f"{{{CSV}, escape: a}}", "sources.s.escape: 'a' is not one such character"),
        (f"{{{CSV}, quote: '§'}}", "sources.s.quote: '§' is not one such character"),
        (f"{{{CSV}, escape: '\"'}}", "remove 'escape': a quote that is written twice is one quote"),
        (
            f"{{{CSV}, delimiter: '#', comment: '#'}}",
            "'#' is the 'comment' of the source and its 'delimiter'",
        ),
        (f"{{{CSV}, quote: ','}}", "sources.s.quote: ',' is the 'quote' of the source and its 'delimiter'"),
        (f"{{{CSV}, header: []}}", "[] is neither true, nor false, nor a list of names"),
        (f"{{{CSV}, header: [a, a]}}", "the list of names has 'a' twice write the name of each field"),
        (f"{{{CSV}, header: [b, ' a']}}", "one with spaces around it"),
        (
            f"{{{CSV}, header: none}}",
            "sources.s.header: 'none' is neither true, nor false, nor a list of names",
        ),
        (f"{{{CSV}, header: [id, aa]}}", "there is no field of source 's' called 'a' did you mean 'aa'?"),
        (f"{{{CSV}, skip_rows: 1}}", "did you mean 'skip_lines'?"),
        (
            f"{{{CSV}, header: false}}",
            "the files of source 's' have no header: a field is taken by its number",
        ),
    ],
)
def test_a_form_of_csv_that_cannot_be_is_refused(tmp_path: Path, source: str, said: str) -> None:
    found = problems(tmp_path, source)

    assert any(said in problem and problem.startswith("conf/pipelines/p.yml:") for problem in found), found


def test_fields_without_names_are_taken_by_number(tmp_path: Path) -> None:
    found = problems(tmp_path, f"{{{CSV}, header: false}}", BY_NUMBER)

    assert ["silver.t.columns.b" in problem for problem in found] == [True], found


KAFKA = 'format: kafka, servers: "localhost:9092", topic: t'


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{format: json, path: p, topic: t}", "sources.s.topic: the key 'topic' is unknown"),
        ("{format: kafka, path: p, topic: t}", "sources.s.path: the key 'path' is unknown"),
        ("{format: kafka, topic: t}", "the key 'servers' is missing"),
        ("{format: kafka, servers: nowhere, topic: t}", "is not a list of brokers"),
        (f"{{{KAFKA}, value: avro}}", "the key 'schema' is missing"),
        (f"{{{KAFKA}, value: avro, schema: schemas/none.avsc}}", "there is no file conf/schemas/none.avsc"),
        (f"{{{KAFKA}, avro_framing: confluent}}", "'avro_framing' is incompatible with value: json"),
        (f"{{{KAFKA}, sasl.password: secret}}", "the key 'sasl.password' is unknown"),
        ("{format: kafak, topic: t}", "did you mean 'kafka'?"),
        ("{format: socket}", "the key 'port' is missing"),
    ],
)
def test_a_stream_is_refused_with_its_line_and_the_way_out(tmp_path: Path, source: str, said: str) -> None:
    found = problems(tmp_path, source)

    assert any(said in problem and problem.startswith("conf/pipelines/p.yml:") for problem in found), found


def test_a_socket_cannot_be_scheduled(tmp_path: Path) -> None:
    found = problems(tmp_path, "{format: socket, port: 9999}", f'schedule: "@daily"\n{SILVER}')

    assert len(found) == 1
    assert "a socket keeps nothing" in found[0]
    assert "weir stream p" in found[0]


@pytest.mark.parametrize(
    "pattern", [r"(?P<a>\S+) (?:x|y)+ \(\?=\)", r"(?P<level>[A-Z]+)\s*(?P<rest>.*?)", r"(?i)(?P<a>a{2,3})"]
)
def test_an_expression_that_re2_knows_is_taken(pattern: str) -> None:
    assert judge_line_regex(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [r"(?P<a>.)(?P=a)", r"(?P<a>.)\1", r"(?P<a>.++)", r"(?P<a>", r"(?P<value>.*)", "no group", r"(?P<_a>.)"],
)
def test_an_expression_that_re2_does_not_know_or_that_names_no_fields_is_refused(pattern: str) -> None:
    assert judge_line_regex(pattern) is not None


ORIGINS = (
    "f: {type: string, from: _file}, i: {type: string, from: _file_id}, n: {type: bigint, from: _line},"
    " m: {type: timestamp, from: _file_modified_at}, a: {type: timestamp, from: _arrived_at}"
)
USES = "key: [f, n], sequence_by: [m, _line], where: _line > 1, delete_when: \"_file LIKE '%gone%'\""


@pytest.mark.parametrize("file_format", ["csv", "json", "text", "parquet"])
def test_columns_and_sql_take_where_a_row_of_a_file_came_from(tmp_path: Path, file_format: str) -> None:
    silver = (
        f"silver: {{t: {{from: s, columns: {{{ORIGINS}, d: {{type: date, sql: CAST(a AS DATE)}}}}, {USES}}}}}"
    )

    assert problems(tmp_path, f"{{format: {file_format}, path: p}}", silver) == []


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            "columns: {n: {type: int, from: _line}}",
            "_line is a bigint, and the column 'n' is declared as 'int'",
        ),
        (
            "columns: {f: {type: string, from: _file, sensitive: true}}",
            "'sensitive' is incompatible with from: _file",
        ),
        ("columns: {c: {type: string, from: _chunk}}", "a column of files takes _file, _file_id, _line"),
        ("columns: {a: string}, key: _line", "take it, as in line: {type: bigint, from: _line}"),
        ("columns: {a: string}, key: a, sequence_by: _file_modified_at", "take it by a column"),
        ("columns: {a: string}, where: _lines > 1", "there is no column '_lines' here did you mean '_line'"),
    ],
)
def test_what_cannot_be_taken_of_a_file_is_refused(tmp_path: Path, table: str, said: str) -> None:
    found = problems(tmp_path, "{format: csv, path: p}", f"silver: {{t: {{from: s, {table}}}}}")

    assert any(said in problem for problem in found), found


def test_messages_have_no_file(tmp_path: Path) -> None:
    found = problems(
        tmp_path, "{format: rate}", "silver: {t: {from: s, columns: {value: bigint}, where: _line > 1}}"
    )

    assert any("there is no column '_line' here" in problem for problem in found), found


PARTS = "silver: {t: {from: s, columns: {d: {type: date, from: _path.day}, o: string}, key: d, sequence_by: _line}}"


@pytest.mark.parametrize(
    "source",
    [
        "{format: json, path: 'orders/dt={day}/shop={shop}'}",
        "{format: csv, path: 'orders/{shop}_{day}.csv'}",
        "{format: csv, path: orders, path_fields: '(?P<day>[^/]+)/.*'}",
    ],
)
def test_columns_take_named_parts_of_the_path(tmp_path: Path, source: str) -> None:
    assert problems(tmp_path, source, PARTS) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("path: 'o/{shop}{day}'", "says where one part ends and the next begins put something between"),
        ("path: '{day}/x'", "names no folder begin with the folder"),
        ("path: 'o/{day'", "has a brace without its other half"),
        ("path: 'o/{}'", "is not a legal column name"),
        ("path: 'o/{day}/{day}'", "the part 'day' is there twice"),
        ("path: 'o/{day}/*.csv'", "* is no part of a name in 'o/{day}/*.csv'"),
        ("path: 'o/{days}'", "no part of the path called '_path.day' did you mean '_path.days'?"),
        ("path: '../o/{day}'", "'../o' is not a path below the root"),
        ("path: 'o/{day}', path_fields: '(?P<day>.*)'", "incompatible with a path that has names in braces"),
        ("path: o, path_fields: '(.*)'", "sources.s.path_fields: every group must be a field with a name"),
        ("path: o, path_fields: '(?P<day>x)(?=y)'", "'(?=' cannot be used here"),
        ("path: ., path_fields: '(?P<day>.*)'", "the source has none of its own"),
        ("path: o", "the source 's' says no parts of its path"),
    ],
)
def test_parts_of_a_path_that_cannot_be_told_are_refused(tmp_path: Path, source: str, said: str) -> None:
    found = problems(tmp_path, f"{{format: csv, {source}}}", PARTS)

    assert any(said in problem and problem.startswith("conf/pipelines/p.yml:") for problem in found), found


def test_a_part_of_a_path_is_no_array(tmp_path: Path) -> None:
    found = problems(tmp_path, "{format: json, path: 'o/{day}'}", PARTS.replace("date", '"array<date>"'))

    assert any("is one part of a path, which is no 'array<date>'" in problem for problem in found), found


@pytest.mark.parametrize(
    ("source", "file", "parts"),
    [
        (
            {"path": "o/dt={day}/shop={shop}"},
            "o/dt=2026-03-01/shop=a b/1.json",
            {"day": "2026-03-01", "shop": "a b"},
        ),
        ({"path": "o/dt={day}"}, "o/dt=x/y/z/\n1.json", {"day": "x"}),
        ({"path": "o/{shop}_{day}.csv"}, "o/north_1_2.csv", {"shop": "north_1", "day": "2"}),
        ({"path": "o/dt={day}"}, "o/day=x/1.json", None),
        ({"path": "o/dt={day}"}, "p/dt=x/1.json", None),
        ({"path": "o/v1.{day}"}, "o/v11x/1.json", None),
        (
            {"path": "o", "path_fields": "(?:(?P<shop>[a-z]+)/)?(?P<day>\\d+)"},
            "o/1",
            {"shop": None, "day": "1"},
        ),
    ],
)
def test_the_parts_of_a_path_are_found(
    source: dict[str, str], file: str, parts: dict[str, str | None] | None
) -> None:
    assert FileSource.model_validate({"format": "json", **source}).parts_of_path(file) == parts


def test_the_page_shows_the_parts_that_are_found() -> None:
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    section = page.partition("\n#### Parts of a path\n")[2].partition("\n### ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]

    assert len(rows) > 3
    for path, file, said in rows:
        source = FileSource.model_validate({"format": "json", "path": path.strip("`")})
        parts = dict(re.findall(r"(\w+) `([^`]+)`", said)) or None
        assert source.parts_of_path(file.strip("`")) == parts
