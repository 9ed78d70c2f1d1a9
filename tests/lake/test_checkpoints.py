"""What a checkpoint says of batches, and that nobody takes a damaged file of it for whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.lake.checkpoints import (
    Checkpoint,
    CheckpointDamaged,
    begun_versions,
    next_watermark,
    read_first_offset,
    read_offset,
)

BEGUN = """v1
{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}
{"sourceVersion":1,"reservoirId":"of clicks","reservoirVersion":4,"index":-1,"isStartingVersion":false}
{"sourceVersion":1,"reservoirId":"of orders","reservoirVersion":7,"index":3,"isStartingVersion":true}
-
"""


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_a_batch_that_was_cut_reads_its_tables_up_to_the_versions_in_its_offsets(tmp_path: Path) -> None:
    assert begun_versions(Checkpoint("gold.t", str(tmp_path))) == {}
    write(tmp_path / "offsets", "0", BEGUN)

    assert begun_versions(Checkpoint("gold.t", str(tmp_path))) == {"of clicks": 3, "of orders": 7}

    write(tmp_path / "commits", "0", 'v1\n{"nextBatchWatermarkMs":0}\n')
    assert begun_versions(Checkpoint("gold.t", str(tmp_path))) == {}


READERS: dict[str, tuple[str, Callable[[Checkpoint], Any]]] = {
    "the versions of a batch": ("offsets/0", begun_versions),
    "the offset of a batch": ("offsets/0", lambda checkpoint: read_offset(checkpoint, 0)),
    "where a topic began": ("sources/0/0", read_first_offset),
    "the watermark": ("commits/0", next_watermark),
}


@pytest.mark.parametrize("content", ["", "v1", 'v1\n{"batch', "\0" * 20])
@pytest.mark.parametrize("asked", READERS)
def test_whoever_reads_a_damaged_file_is_told_its_name(tmp_path: Path, asked: str, content: str) -> None:
    file, read = READERS[asked]
    write((tmp_path / file).parent, Path(file).name, content)

    with pytest.raises(CheckpointDamaged, match=rf"gold\.t: .*{file} of its checkpoint is damaged"):
        read(Checkpoint("gold.t", str(tmp_path)))


def test_offsets_that_end_before_those_of_the_first_source_are_damaged(tmp_path: Path) -> None:
    write(tmp_path / "offsets", "0", "\n".join(BEGUN.splitlines()[:2]))

    with pytest.raises(CheckpointDamaged, match="it is cut"):
        read_offset(Checkpoint("gold.t", str(tmp_path)), 0)
