import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from spark_jobs.config.pipeline import Source
from spark_jobs.landing import registrar
from spark_jobs.landing.folder import LandedFile
from spark_jobs.landing.registrar import CHANGED, HIDDEN, Arrivals, bytes_after, last_taken_chunk, register_arrivals

AT = datetime(2026, 3, 1, tzinfo=UTC)


def source(**more: Any) -> Source:
    return Source(format="json", path="shop/orders", **more)


def land(root: Path, name: str, content: bytes = b"{}") -> Path:
    file = root / "landing" / "shop" / "orders" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def register(root: Path, **more: Any) -> Arrivals:
    return register_arrivals(str(root / "landing"), source(**more), str(root / "arrivals"), AT)


def arrivals(root: Path, *columns: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable(root / "arrivals").to_pyarrow_table(columns=list(columns)).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def test_each_new_file_arrives_once(tmp_path: Path) -> None:
    land(tmp_path, "a.json")
    assert register(tmp_path).taken == 1
    land(tmp_path, "b.json")
    assert register(tmp_path).taken == 1
    assert register(tmp_path) == Arrivals()
    assert arrivals(tmp_path, "path", "chunk", "verdict") == [("shop/orders/a.json", 1, "taken"), ("shop/orders/b.json", 2, "taken")]


def test_a_chunk_holds_at_most_files_per_batch_and_is_one_commit_of_one_data_file(tmp_path: Path) -> None:
    for number in range(5):
        land(tmp_path, f"{number}.json")
    register(tmp_path, files_per_batch=2)
    assert [chunk for _, chunk in arrivals(tmp_path, "path", "chunk")] == [1, 1, 2, 2, 3]
    assert len(DeltaTable(tmp_path / "arrivals").file_uris()) == 3


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert register(tmp_path) == Arrivals()
    assert not (tmp_path / "arrivals").exists()


def test_old_files_and_odd_names_are_taken_as_they_are(tmp_path: Path) -> None:
    names = ["with blank.json", "100%.json", "[a]*.json", "naïve-日本.json", "sub/deep.json"]
    for name in names:
        os.utime(land(tmp_path, name), (1, 1))
    assert register(tmp_path).taken == len(names)
    assert [path for path, _ in arrivals(tmp_path, "path", "size")] == sorted(f"shop/orders/{name}" for name in names)


def test_only_names_that_match_the_pattern_belong_to_the_source(tmp_path: Path) -> None:
    land(tmp_path, "a.json")
    land(tmp_path, "a.done")
    register(tmp_path, pattern="*.json")
    assert arrivals(tmp_path, "path") == [("shop/orders/a.json",)]


def test_a_path_that_changed_after_it_was_taken_is_refused_once_with_its_reason(tmp_path: Path) -> None:
    land(tmp_path, "a.json", b"1")
    register(tmp_path)
    land(tmp_path, "a.json", b"22")
    assert register(tmp_path).refused == (("shop/orders/a.json", CHANGED),)
    assert register(tmp_path) == Arrivals()
    os.utime(tmp_path / "landing" / "shop" / "orders" / "a.json", (5, 5))
    assert register(tmp_path).refused == (("shop/orders/a.json", CHANGED),)
    assert last_taken_chunk(str(tmp_path / "arrivals")) == 1


def test_a_path_that_was_only_touched_is_neither_taken_again_nor_refused(tmp_path: Path) -> None:
    file = land(tmp_path, "a.json")
    register(tmp_path)
    os.utime(file, (5, 5))
    assert register(tmp_path) == Arrivals()
    assert arrivals(tmp_path, "chunk", "verdict") == [(1, "taken"), (2, "touched")]
    assert last_taken_chunk(str(tmp_path / "arrivals")) == 1


@pytest.mark.parametrize("name", [".part.json", "_SUCCESS"])
def test_hidden_names_are_refused_with_their_reason(tmp_path: Path, name: str) -> None:
    land(tmp_path, name)
    assert register(tmp_path).refused == ((f"shop/orders/{name}", HIDDEN),)


def test_a_file_that_changes_while_it_is_read_waits_for_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    land(tmp_path, "a.json", b"{}")
    with monkeypatch.context() as growing:
        growing.setattr(registrar, "stat_file", lambda landing, path: LandedFile(path, 99, AT))
        assert register(tmp_path) == Arrivals(waiting=("shop/orders/a.json",))
    assert register(tmp_path).taken == 1


def test_the_same_file_has_the_same_id_in_every_lake(tmp_path: Path) -> None:
    for lake in ("one", "two"):
        land(tmp_path / lake, "a.json", b"same")
        register(tmp_path / lake)
    assert arrivals(tmp_path / "one", "file_id") == arrivals(tmp_path / "two", "file_id")


def test_bytes_after_a_chunk_are_those_of_the_files_still_to_take(tmp_path: Path) -> None:
    land(tmp_path, "a.json", b"12345")
    land(tmp_path, "_b.json", b"refused")
    register(tmp_path)
    land(tmp_path, "c.json", b"123")
    register(tmp_path)
    assert [bytes_after(str(tmp_path / "arrivals"), chunk) for chunk in (0, 1, 2)] == [8, 3, 0]
    assert bytes_after(str(tmp_path / "none"), 0) == 0
