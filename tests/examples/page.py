"""What a section of a page shows: its files, the records that land, and the rows that come out."""

import re

from tests.conftest import ROOT


def section(page: str, title: str) -> str:
    """The text below a heading, to the next one of its rank or above."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    start = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert start, f"{page} has no section {title!r}"
    rest = text[start.end() :]
    prose = re.sub(r"^```.*?^```$", lambda code: " " * len(code[0]), rest, flags=re.MULTILINE | re.DOTALL)
    end = re.search(rf"^#{{1,{len(start[1])}}} ", prose, re.MULTILINE)
    return rest[: end.start()] if end else rest


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def tables(text: str) -> list[list[dict[str, str]]]:
    """The tables of results, each as its rows; a cell is the text that it shows."""
    found = []
    for lines in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]
        found.append([dict(zip(cells[0], row, strict=True)) for row in cells[2:]])
    return found
