"""What a checkpoint says of a batch that was begun and not ended."""

from pathlib import Path

from spark_jobs.lake.checkpoints import begun_versions

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
    assert begun_versions(str(tmp_path)) == {}
    write(tmp_path / "offsets", "0", BEGUN)

    assert begun_versions(str(tmp_path)) == {"of clicks": 3, "of orders": 7}

    write(tmp_path / "commits", "0", 'v1\n{"nextBatchWatermarkMs":0}\n')
    assert begun_versions(str(tmp_path)) == {}
