"""Questions to a table without a JVM: answers are kept while the table is as it was."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake import delta_table
from spark_jobs.lake.delta_table import DeltaTable, read_rows


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that were opened by questions."""
    opened = list[str]()

    class Noted(DeltaTable):
        def __init__(self, path: str) -> None:
            opened.append(path)
            super().__init__(path)

    monkeypatch.setattr(delta_table, "DeltaTable", Noted)
    return opened


def write(path: Path, *numbers: int) -> None:
    write_deltalake(
        path, pa.table({"n": list(numbers), "name": [str(number) for number in numbers]}), mode="append"
    )


def test_a_table_is_opened_once_for_a_question_and_again_when_it_has_changed(
    tmp_path: Path, opened: list[str]
) -> None:
    path = tmp_path / "ledger"
    write(path, 1)

    found = [read_rows(str(path), ["n"]) for _ in range(3)]
    write(path, 2)
    after = read_rows(str(path), ["n"])

    assert found == [[{"n": 1}]] * 3
    assert sorted(row["n"] for row in after) == [1, 2]
    assert len(opened) == 2


def test_each_question_has_its_own_answer(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger")
    write(Path(path), 1, 2)

    for _ in range(2):
        assert read_rows(path, ["n"], "n > 1") == [{"n": 2}]
        assert read_rows(path, ["name"], "n > 1") == [{"name": "2"}]
        assert read_rows(path, ["name"], "n < 2") == [{"name": "1"}]


def test_who_changes_an_answer_changes_nobody_elses(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger")
    write(Path(path), 1)

    read_rows(path)[0]["n"] = 5
    read_rows(path)[0]["n"] = 6

    assert read_rows(path, ["n", "name"]) == read_rows(path) == [{"n": 1, "name": "1"}]


def test_a_table_in_the_place_of_another_is_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    write(path, 1)
    assert read_rows(str(path), ["n"]) == [{"n": 1}]

    shutil.rmtree(path)
    assert read_rows(str(path), ["n"]) == []
    write(path, 2)

    assert read_rows(str(path), ["n"]) == [{"n": 2}]


def test_many_rows_are_not_kept(tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_table, "MOST_ROWS", 1)
    path = tmp_path / "ledger"
    write(path, 1, 2)

    assert [len(read_rows(str(path))) for _ in range(2)] == [2, 2]
    assert len(opened) == 2
