"""Files of a batch that brought no record: those that cannot be read, with their problem, and those that are
empty. No JVM.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.bronze.ingest import barren_in, find_barren

FILES: list[dict[str, Any]] = [
    {"path": f"{name}.csv", "file_id": name, "chunk": 4, "size": size, "start_byte": None}
    for name, size in (("good", 50_000), ("broken", 70_000), ("header", 8))
]
SCHEMA = pa.schema(
    [("_file_id", pa.string()), ("_line", pa.int64()), ("_problem", pa.string()), ("_chunk", pa.int64())]
)
ROWS = pa.Table.from_pylist(
    [
        {"_file_id": "good", "_line": 2, "_problem": None, "_chunk": 4},
        {"_file_id": "good", "_line": 3, "_problem": "1 field, the header has 2", "_chunk": 4},
        {
            "_file_id": "broken",
            "_line": 0,
            "_problem": "UnreadableFile: the header has an empty or repeated name",
            "_chunk": 4,
        },
        {"_file_id": "header", "_line": 2, "_problem": None, "_chunk": 3},
    ],
    schema=SCHEMA,
)
FOUND = ([("broken.csv", "UnreadableFile: the header has an empty or repeated name")], ["header.csv"])


def test_a_file_with_a_problem_at_line_0_and_one_without_a_row_are_found() -> None:
    assert barren_in(FILES, [ROWS.slice(0, 3)]) == FOUND
    assert barren_in(FILES[2:], [SCHEMA.empty_table()]) == ([], ["header.csv"])


def test_they_are_found_in_the_table_by_the_rows_of_their_chunk(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "bronze"), ROWS)

    assert find_barren(str(tmp_path / "bronze"), FILES, {4}, records=2, unreadable=1) == FOUND


def test_a_large_file_without_a_record_is_found_as_well(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "bronze"), ROWS)
    files = [FILES[0], {**FILES[2], "path": "other_tag.xml", "size": 10_000_000}]

    found = find_barren(str(tmp_path / "bronze"), files, {4}, records=2, unreadable=0)

    assert found == ([], ["other_tag.xml"])


def test_the_table_is_not_read_for_one_file_that_can_be_read(tmp_path: Path) -> None:
    table, one = str(tmp_path / "no table"), FILES[:1]

    assert find_barren(table, one, {4}, records=2, unreadable=0) == ([], [])
    assert find_barren(table, one, {4}, records=0, unreadable=0) == ([], ["good.csv"])
