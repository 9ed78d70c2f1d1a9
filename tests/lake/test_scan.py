"""Tables are read in pieces: what is in memory does not grow with their files, and columns that came later
are NULL before.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from spark_jobs.lake import delta_table
from spark_jobs.lake.scan import read_where, scan_pieces

ROWS = 200_000
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One file with one row group of 20 MB, then one with another column."""
    path = str(tmp_path_factory.mktemp("scan") / "table")
    texts = [f"{number:0100}" for number in range(ROWS)]
    write_deltalake(path, pa.table({"n": range(ROWS), "text": texts}))
    write_deltalake(
        path, pa.table({"n": [ROWS], "text": ["last"], "later": ["new"]}), mode="append", schema_mode="merge"
    )
    return path


def test_a_big_row_group_is_never_in_memory_as_a_whole(path: str) -> None:
    groups = [pq.read_metadata(file).num_row_groups for file in Path(path).glob("*.parquet")]
    assert groups == [1, 1]
    before, most, rows = pa.total_allocated_bytes(), 0, 0

    for piece in scan_pieces(path, ["text"], 1_000):
        most, rows = max(most, pa.total_allocated_bytes() - before), rows + len(piece)
        assert len(piece) <= 1_000

    assert rows == ROWS + 1
    assert most < 10 * MEGABYTE


def test_a_condition_may_ask_for_other_columns_and_for_ones_that_came_later(path: str) -> None:
    near_the_end = list(scan_pieces(path, ["later"], 1_000, ds.field("n") >= ROWS - 1, ["n"]))
    with_later = list(scan_pieces(path, ["n", "unknown"], 1_000, ~ds.field("later").is_null(), ["later"]))

    assert sorted(row["later"] or "" for piece in near_the_end for row in piece.to_pylist()) == ["", "new"]
    assert [row for piece in with_later for row in piece.to_pylist()] == [{"n": ROWS}]
    assert list(scan_pieces(f"{path}/no_table", ["n"], 1_000)) == []


def test_a_table_is_opened_once_while_it_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened = str(tmp_path / "notes"), []

    class Counted(delta_table.DeltaTable):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            opened.append(arguments)
            super().__init__(*arguments, **more)

    monkeypatch.setattr(delta_table, "DeltaTable", Counted)
    write_deltalake(path, pa.table({"id": [1], "run_id": ["a"]}))

    first = [read_where(path, ["id"], {"run_id": ["a"]}), read_where(path, ["run_id"])]

    assert (first, len(opened)) == ([[{"id": 1}], [{"run_id": "a"}]], 1)
    write_deltalake(path, pa.table({"id": [2], "run_id": ["b"]}), mode="append")
    assert sorted(row["id"] for row in read_where(path, ["id"])) == [1, 2], "a later commit is seen"
    assert len(opened) == 2
