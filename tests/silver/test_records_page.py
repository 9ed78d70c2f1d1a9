"""docs/records.md: every line of its tables is a file that is read, or a record that is decoded, and what it
says is what comes out.
"""

import bz2
import gzip
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from spark_jobs.silver.json_record import FAULTS, LONGEST_TEXT
from tests.bronze.arrive import read, written
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
SIGNS = {"␊": "\n", "␍": "\r", "␉": "\t", "␀": "\0", "⟦BOM⟧": "\ufeff"}
PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip.compress),
    "bzip2": (".bz2", bz2.compress),
    "zstd": (".zst", lambda content: pa.compress(content, "zstd", asbytes=True)),
}


def rows(title: str, least: int = 20) -> Iterator[list[str]]:
    """The cells of the table of a section."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(lines) > least, f"the section {title!r} has no table"
    yield from (line.strip("|").split(" | ") for line in lines[1:])


def spelled_out(cell: str) -> str:
    """The text of a cell in code: «1×3» is 111, and ␊ a line feed."""
    text = re.fullmatch(r"\s*`(.*)`\s*", cell, re.DOTALL)
    assert text, cell
    found = re.sub(r"«([^«»]*)×([\d,]+)»", lambda part: part[1] * int(part[2].replace(",", "")), text[1])
    for sign, meant in SIGNS.items():
        found = found.replace(sign, meant)
    return found


@pytest.mark.parametrize(
    ("kind", "file", "said"),
    [pytest.param(*cells, id=f"{cells[0].strip()} {cells[1]}"[:60]) for cells in rows("Files")],
)
def test_a_file_is_read_as_the_page_says(tmp_path: Path, kind: str, file: str, said: str) -> None:
    found = read(landed(tmp_path, kind.strip(), file.strip()), kind.strip())

    told, _, record = said.strip().partition(": `")
    assert summary(found).startswith(told) if told.startswith("refused:") else summary(found) == told
    if record:
        assert found[0][1] == spelled_out(f"`{record}")


@pytest.mark.parametrize(
    ("keys", "file", "said"),
    [pytest.param(*cells, id=f"{cells[0]} {cells[1]}"[:60]) for cells in rows("CSV as its source says", 15)],
)
def test_a_csv_file_is_read_as_its_source_says(tmp_path: Path, keys: str, file: str, said: str) -> None:
    source = yaml.safe_load(keys.strip().strip("`"))
    found = read(written(tmp_path, "a.csv", spelled_out(file).encode()), "csv", **source)

    told, _, record = said.strip().partition(": `")
    assert summary(found) == told
    if record:
        assert found[0][1] == spelled_out(f"`{record}")


def landed(folder: Path, kind: str, file: str) -> Path:
    if file.startswith("an empty file"):
        return written(folder, file.split("`")[1] if "`" in file else f"a.{kind}", b"")
    code, _, how = file.rpartition("`")
    encoding = match[1] if (match := re.search(r" in (\S+)", how)) else "utf-8"
    content = spelled_out(f"{code}`").encode(encoding)
    ending = ""
    if packer := re.search(r" packed by (\w+)", how):
        ending, pack = PACKED[packer[1]]
        content = pack(content)
    return written(
        folder, f"a.{kind}{'' if 'plain name' in how else ending}", content[:-4] if "cut" in how else content
    )


def summary(found: list[tuple[int, str | None, str | None]]) -> str:
    if [line for line, _, _ in found] == [0]:
        return f"refused: {str(found[0][2]).removeprefix('UnreadableFile: ')}"
    good, problems = (
        sum(problem is None for _, _, problem in found),
        [problem for _, _, problem in found if problem is not None],
    )
    parts = [f"{good} record{'' if good == 1 else 's'}"] if good else []
    parts += [f"{len(problems)} set aside: {problems[0]}"] if problems else []
    return ", ".join(parts) or "no record"


@pytest.mark.spark
def test_records_and_values_are_decoded_as_the_page_says(decode_records: Callable[..., list[Any]]) -> None:
    """In one question to Spark: a column for the records, and one for each value."""
    records, values = list(rows("JSON records")), list(rows("Numbers and times"))
    columns = {"a": "string"} | {f"c{number}": kind.strip() for number, (kind, _, _) in enumerate(values)}
    sent = [spelled_out(text) for text, _ in records] + [
        f'{{"c{number}":{spelled_out(text)}}}' for number, (_, text, _) in enumerate(values)
    ]

    decoded = decode_records(sent, columns)

    found = {
        text.strip()[:80]: told(reasons, row["a"])
        for (text, _), (row, reasons, _) in zip(records, decoded, strict=False)
    }
    assert found == {text.strip()[:80]: said.strip() for text, said in records}
    taken = {}
    for number, ((kind, text, _), (row, reasons, _)) in enumerate(
        zip(values, decoded[len(records) :], strict=True)
    ):
        taken[kind.strip(), text.strip()] = "refused" if reasons else f"`{shown(row[f'c{number}'])}`"
        assert [reason[0] for reason in reasons] in ([], [f"type {kind.strip()}"])
    assert taken == {(kind.strip(), text.strip()): said.strip() for kind, text, said in values}


def told(reasons: list[tuple[str, str | None, str | None]], value: str | None) -> str:
    if not reasons:
        return "taken: NULL" if value is None else f"taken: `{value}`".replace("\n", "␊")
    [(rule, _, words)] = reasons
    assert rule == "decodable"
    return str(words)


def shown(value: Any) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else value.isoformat(" ")
        if isinstance(value, datetime)
        else str(value)
    )


def test_the_page_shows_every_fault_of_a_json_record() -> None:
    unseen = [said for _, _, said in FAULTS if f" | not one JSON object: {said} |" not in PAGE]

    assert unseen == [f"it has a text of more than {LONGEST_TEXT:,} characters"], (
        "the test of such a long one takes too much memory"
    )
