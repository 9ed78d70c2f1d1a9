from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake import reasons
from spark_jobs.lake.reasons import count_open, count_reasons, sample_rows
from spark_jobs.lake.scan import read_where

REASON = pa.struct([("rule", pa.string()), ("column", pa.string()), ("value", pa.string())])
SCHEMA = pa.schema(
    [
        ("reasons", pa.list_(REASON)),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("run_id", pa.string()),
        ("state", pa.string()),
    ]
)


def write_rows(path: Path, count: int, run_id: str, *names: str, state: str = "open") -> None:
    why = [{"rule": name, "column": "x", "value": f"v{name}"} for name in names]
    rows = [
        {"reasons": why, "file": "a", "line": line, "run_id": run_id, "state": state}
        for line in range(1, count + 1)
    ]
    write_deltalake(path, pa.Table.from_pylist(rows, schema=SCHEMA), mode="append")


def test_a_row_counts_for_each_of_its_reasons_and_only_while_it_is_open(tmp_path: Path) -> None:
    write_rows(tmp_path, 3, "run 1", "a", "b")
    write_rows(tmp_path, 2, "run 2", "b")
    write_rows(tmp_path, 9, "run 2", "b", state="discarded")

    assert count_reasons(str(tmp_path)) == {("a", "x"): 3, ("b", "x"): 5}
    assert count_reasons(str(tmp_path), ["run 2"]) == {("b", "x"): 2}
    assert count_open(str(tmp_path)) == 5


def test_samples_are_few_for_each_reason(tmp_path: Path) -> None:
    write_rows(tmp_path, 50, "run 1", "a")
    write_rows(tmp_path, 1, "run 1", "b")

    found = sample_rows(str(tmp_path), [("a", "x"), ("b", "x"), ("c", "x")], each=2)

    assert {reason: len(rows) for reason, rows in found.items()} == {("a", "x"): 2, ("b", "x"): 1}
    assert {row.value for row in found["a", "x"]} == {"va"}


def test_values_that_stand_as_rules_do_not_make_the_count_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasons, "REASONS_KEPT", 3)
    write_rows(tmp_path, 1, "run", *(f"rule {number}" for number in range(20)))

    assert len(count_reasons(str(tmp_path))) == 3


def test_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")

    assert (count_open(nowhere), count_reasons(nowhere), sample_rows(nowhere, [("a", "x")], 1)) == (0, {}, {})
    assert read_where(nowhere, ["x"]) == []


def test_a_column_that_a_table_lacks_is_none_and_rules_nothing_out(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"x": [1, 2]}))

    assert read_where(str(tmp_path), ["x", "later"], {"later": ["a"], "x": [2]}) == [{"x": 2, "later": None}]
    assert read_where(str(tmp_path), ["later"]) == []
