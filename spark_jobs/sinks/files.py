"""Files for readers that know nothing of Delta: a folder of which every view is whole.

    <path>/current            a link to the newest set: what readers read, as in <path>/current/*.parquet
    <path>/.sets/<number>/    a set: the files of all batches so far, and _manifest.json with its content
    <path>/.staging/          what a batch is writing

A batch is written where nobody looks, put into a new set together with the files of the last one (links:
nothing is copied), and shown by replacing the link `current`, which is one step of the file system. Files
bear the names of their batches, so that a batch that is done again puts the same names in the same place.
Small files are put together in the same way: one set has the small ones, the next the big one.
"""

import csv
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.sinks import FileSink
from spark_jobs.config.text import FORMULA, NUMBER
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import writing
from spark_jobs.sinks.changes import JSON, OPERATION, string_columns
from spark_jobs.sinks.delivery import Delivery

CURRENT, SETS, STAGING, MANIFEST = "current", ".sets", ".staging", "_manifest.json"
KEPT_SETS = 10
"""So many sets stay for readers that began with them."""
CSV = {
    "header": "true",
    "escape": '"',
    "emptyValue": '""',
    "nullValue": "",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": JSON["timestampFormat"],
}
"""As RFC 4180 has it, and blanks stay: Spark would cut them."""
OPTIONS: dict[str, dict[str, str]] = {"csv": CSV, "json": JSON, "parquet": {}}


class PlaceOccupied(Exception):
    """The folder of a sink has something in it that the sink did not write, or leads out
    of the exports root.
    """

    def __init__(self, sink: str, path: Path, why: str) -> None:
        self.sink, self.path = sink, path
        super().__init__(
            f"{sink}: {path} {why}; nothing was written: give the sink a folder of its own, or move away what"
            " is there"
        )


@dataclass(frozen=True)
class Entry:
    """Files that came together: of one batch, or of several that were put together."""

    files: tuple[str, ...]
    rows: int
    batches: int = 1


@dataclass(frozen=True)
class Manifest:
    """What a set holds: its entries, and the last batch with its counts, by which one that is done again is
    known.
    """

    number: int = 0
    generation: int = 0
    batch: str = ""
    version: int | None = None
    counts: Counts = field(default_factory=Counts)
    entries: tuple[Entry, ...] = ()

    def as_text(self) -> str:
        entries = [
            {"files": list(entry.files), "rows": entry.rows, "batches": entry.batches}
            for entry in self.entries
        ]
        said = {
            "generation": self.generation,
            "batch": self.batch,
            "version": self.version,
            "counts": self.counts.as_dict(),
        }
        return json.dumps(
            {**said, "rows": sum(entry.rows for entry in self.entries), "entries": entries}, indent=1
        )

    @classmethod
    def of_text(cls, number: int, text: str) -> "Manifest":
        said: dict[str, Any] = json.loads(text)
        entries = tuple(
            Entry(tuple(entry["files"]), entry["rows"], entry["batches"]) for entry in said["entries"]
        )
        return cls(
            number, said["generation"], said["batch"], said["version"], Counts.of_row(said["counts"]), entries
        )


def deliver_files(delivery: Delivery, sink: FileSink, exports: Path) -> tuple[Counts, int | None]:
    """Publish the batch, once: one that the newest set has already is only read from its manifest."""
    folder = prepare_folder(delivery.batch.table, exports, sink.path)
    before, told = read_manifest(folder), delivery.told
    if delivery.known_as.is_known_as(before.batch):
        compact(delivery, folder, sink)
        return before.counts, before.version
    delivery.check_history(str(folder), before.batch or None)
    staging = folder / STAGING
    shutil.rmtree(staging, ignore_errors=True)
    shape(delivery, sink).write.format(sink.format).options(**OPTIONS[sink.format]).save(str(staging))
    parts = sorted(staging.glob("part-*"))
    rows = sum(count_rows(part, sink.format) for part in parts)
    counts = delivery.counts(rows)
    delivery.refuse_deletes(counts)
    if delivery.has_nothing(counts):
        shutil.rmtree(staging, ignore_errors=True)
        return counts, delivery.tally.version
    names = tuple(
        f"g{told.generation}-{told.step}-{told.number:08}-{index:05}.{sink.format}"
        for index in range(len(parts))
    )
    kept = () if delivery.is_whole else before.entries
    after = Manifest(
        before.number + 1,
        told.generation,
        told.id,
        delivery.tally.version,
        counts,
        (*kept, Entry(names, rows)),
    )
    with writing(delivery.batch.table, delivery.batch):
        publish(folder, after, dict(zip(names, parts, strict=True)))
    compact(delivery, folder, sink)
    return counts, delivery.tally.version


def shape(delivery: Delivery, sink: FileSink) -> DataFrame:
    """The rows as they stand in the files."""
    operation = [F.col(OPERATION).alias(sink.operation)] if sink.operation else []
    rows = delivery.rows.select(*delivery.columns, *operation)
    if sink.formulas != "neutralise":
        return rows
    texts = string_columns(rows.schema.fields)
    return rows.select(*(_neutral(name) if name in texts else F.col(name) for name in rows.columns))


def _neutral(name: str) -> Column:
    """As safe_cell of config/text.py: an apostrophe before what a spreadsheet would take for a formula.
    Numbers stay numbers.
    """
    value = F.col(name)
    is_formula = value.rlike(f"^[{''.join(map(re.escape, FORMULA))}]") & ~value.rlike(f"^({NUMBER.pattern})$")
    return F.when(is_formula, F.concat(F.lit("'"), value)).otherwise(value).alias(name)


def prepare_folder(sink: str, exports: Path, path: str) -> Path:
    """The folder of the sink, which holds nothing but what the sink wrote, below the exports root whatever
    links are on the way.
    """
    folder = exports / path
    folder.mkdir(parents=True, exist_ok=True)
    if not folder.resolve().is_relative_to(exports.resolve()):
        raise PlaceOccupied(sink, folder, "leads out of the exports root")
    current = folder / CURRENT
    if (current.exists() and not current.is_symlink()) or (
        any(folder.iterdir()) and not (folder / SETS).is_dir()
    ):
        raise PlaceOccupied(sink, folder, "has files that this sink did not write")
    (folder / SETS).mkdir(exist_ok=True)
    return folder


def read_manifest(folder: Path) -> Manifest:
    """Of the set that readers see."""
    current = folder / CURRENT
    if not current.is_symlink():
        return Manifest()
    found = current.resolve()
    return Manifest.of_text(int(found.name), (found / MANIFEST).read_text(encoding="utf-8"))


def publish(folder: Path, manifest: Manifest, new: dict[str, Path]) -> None:
    """Make the set, show it in one step, and forget sets that nobody reads any more."""
    made = folder / SETS / f"{manifest.number:010}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for name in (name for entry in manifest.entries for name in entry.files):
        os.link(new[name] if name in new else folder / CURRENT / name, made / name)
    (made / MANIFEST).write_text(manifest.as_text(), encoding="utf-8")
    link = folder / f".{CURRENT}.new"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(SETS, made.name))
    link.replace(folder / CURRENT)
    shutil.rmtree(folder / STAGING, ignore_errors=True)
    for old in sorted((folder / SETS).iterdir())[: -KEPT_SETS - 1]:
        if old != made:
            shutil.rmtree(old, ignore_errors=True)


def compact(delivery: Delivery, folder: Path, sink: FileSink) -> None:
    """Put the files of single batches together once there are enough of them. Cut by a crash it is done after
    the next batch.
    """
    before = read_manifest(folder)
    small = [entry for entry in before.entries if entry.batches == 1]
    if len(small) < sink.compact_after:
        return
    names = [name for entry in small for name in entry.files]
    staging = folder / STAGING
    staging.mkdir(exist_ok=True)
    together = staging / f"g{before.generation}-together-{before.number:08}.{sink.format}"
    _put_together([folder / CURRENT / name for name in names], together, sink.format)
    expected, rows = sum(entry.rows for entry in small), count_rows(together, sink.format)
    if rows != expected:
        together.unlink()
        return  # never seen; the small files stay, and are right
    entries = tuple(entry for entry in before.entries if entry.batches > 1)
    merged = Entry((together.name,), rows, sum(entry.batches for entry in small))
    with writing(delivery.batch.table, replace(delivery.batch, step="compact")):
        publish(
            folder,
            replace(before, number=before.number + 1, entries=(*entries, merged)),
            {together.name: together},
        )


def _put_together(files: list[Path], target: Path, file_format: str) -> None:
    if file_format == "parquet":
        _put_parquet_together(files, target)
        return
    with open(target, "wb") as out:
        for index, file in enumerate(files):
            with open(file, "rb") as part:
                if file_format == "csv" and index:
                    part.readline()  # every file has the same header, of plain names
                shutil.copyfileobj(part, out)


def _put_parquet_together(files: list[Path], target: Path) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(target, parquet.read_schema(files[0])) as writer:
        for file in files:
            with parquet.ParquetFile(file) as part:
                for batch in part.iter_batches():
                    writer.write_batch(batch)


def count_rows(file: Path, file_format: str) -> int:
    """The rows that a reader finds in a file, counted without Spark."""
    if file_format == "parquet":
        from pyarrow import parquet

        rows: int = parquet.read_metadata(file).num_rows
        return rows
    csv.field_size_limit(sys.maxsize)
    with open(file, encoding="utf-8", newline="") as lines:
        return max(0, sum(1 for _ in _records(lines, file_format)) - (1 if file_format == "csv" else 0))


def _records(lines: Any, file_format: str) -> Iterator[Any]:
    return csv.reader(lines) if file_format == "csv" else lines
