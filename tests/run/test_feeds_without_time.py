"""Dimensions of feeds that have neither a version nor a time: the last load wins, and history has the changes of
columns, valid from when they arrived.
"""

import re
from random import Random
from typing import Any

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, ROOT, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

LOADS = (("5",), ("3", "4"), ("1",), ("2",))
"""The files of each run, in the order of their paths; those of one run arrive together."""
ARTICLES = range(40)
Load = dict[int, str]
COLUMNS = ("article", "shelf", "_valid_from", "_valid_to")


def draw_files(seed: int) -> dict[str, Load]:
    """Each file has some of the articles, and a few shelves, so that much is said again."""
    random = Random(seed)
    names = [name for load in LOADS for name in load]
    return {
        name: {article: random.choice("AB") for article in ARTICLES if random.random() < 0.7}
        for name in names
    }


def text_of(file: Load) -> str:
    return "article,shelf,price\n" + "".join(f"{article},{shelf},1.00\n" for article, shelf in file.items())


def expected(files: dict[str, Load], times: list[Any]) -> list[tuple[Any, ...]]:
    """The intervals of all articles: of the files that arrived together the last one counts."""
    found = []
    for article in ARTICLES:
        said: list[tuple[Any, str]] = []
        for at, load in zip(times, LOADS, strict=True):
            shelves = [files[name][article] for name in load if article in files[name]]
            if shelves and (not said or said[-1][1] != shelves[-1]):
                said.append((at, shelves[-1]))
        ends = [at for at, _ in said[1:]] + [None]
        found += [(str(article), shelf, at, to) for (at, shelf), to in zip(said, ends, strict=True)]
    return sorted(found, key=repr)


def write_example(workshop: Workshop) -> None:
    text = (ROOT / "docs" / "pipeline-file.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(pipeline: stock\n.*?)```", text, re.DOTALL)
    workshop.write("conf/pipelines/stock.yml", example)


def test_history_has_the_changes_of_columns_from_when_they_arrived_in_any_grouping(
    workshop: Workshop,
) -> None:
    write_example(workshop)
    files = draw_files(seed=11)
    for number, load in enumerate(LOADS):
        for name in load:
            workshop.land(f"stock/articles/{name}.csv", text_of(files[name]))
        if number == 1:
            with failpoints.arm("write.after:dimension.article_history=raise"):
                assert workshop.run("stock").status == "failed"
        result = workshop.run("stock")
        assert result.exit_code == 0, result.message
        assert not [warning for warning in result.warnings if "with the same" in warning], "nothing ties"

    times = sorted({at for (at,) in workshop.rows("stock.bronze.articles", "_arrived_at")})
    history = expected(files, times)
    assert workshop.rows("stock.dimension.article_history", *COLUMNS) == history
    newest = {article: shelf for article, shelf, _, until in history if until is None}
    assert dict(workshop.rows("stock.dimension.articles", "article", "shelf")) == newest
    assert verified(workshop, "stock") == []

    tables = standing_tables(workshop.project, "stock")
    rebuilt = rebuild_tables(workshop.project, "stock", PROFILE, tables, start=workshop._start)
    assert rebuilt.exit_code == 0, rebuilt.message
    assert workshop.rows("stock.dimension.article_history", *COLUMNS) == history


def test_what_is_loaded_again_as_it_was_is_a_duplicate(workshop: Workshop) -> None:
    write_example(workshop)
    for number in range(2):
        workshop.land(f"stock/articles/{number}.csv", text_of({1: "A"}))
        result = workshop.run("stock")

    counts = {table.table: table.counts for table in result.tables}
    for table in ("dimension.articles", "dimension.article_history"):
        assert (counts[table].rows_in, counts[table].duplicate, counts[table].grown) == (1, 1, 0)
