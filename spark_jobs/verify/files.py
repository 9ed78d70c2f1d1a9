"""`weir verify --files`: the landed files, read again and compared with bronze record by record, by their
hashes. No JVM.

What enters: the arrivals that bronze has read, and the files that are still as they were then. What leaves: a
Verification. A file that is gone or says something else by now cannot be compared and is named. The reader is
the one that filled bronze, with its second count.
"""

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.bronze.arrived import ArrivedFile, ReadingBroken, UnreadableFile, check_content, make_arrived
from spark_jobs.bronze.records import read_records
from spark_jobs.config import Project
from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import count
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.scan import scan_pieces
from spark_jobs.lake.storage import StorageFailed
from spark_jobs.landing.arrivals import TAKEN, Row, read_arrivals
from spark_jobs.landing.content import open_landed
from spark_jobs.landing.folder import say
from spark_jobs.verify.result import Difference, Kind, Outcome, TableCheck, Verification

ROWS_AT_ONCE = 8_192
GONE = "it is gone"
CHANGED = "it says something else by now"
UNREAD = "it could not be read when it came, and can be read now: `weir take` takes it in"
NEVER_ARRIVED = "a file that never arrived"

Tell = Callable[[TableCheck], None]
OnFile = Callable[[str, int, int], None]
"""Hears of each file that is done: the table, the files done, and all of them."""
Place = tuple[str, int | None]
"""File id and chunk: a file that could not be read may have been taken a second time."""


@dataclass
class Sum:
    """Records in any order: how many, and their hashes added up."""

    records: int = 0
    hashes: int = 0
    has_records: bool = field(default=False, compare=False)

    def add(self, line: int, digest: bytes) -> None:
        self.records += 1
        self.hashes = (self.hashes + int.from_bytes(digest)) % 2**128
        self.has_records = self.has_records or line > 0


def verify_files(
    project: Project,
    name: str,
    select: Collection[str] = (),
    rows: int = 5,
    tell: Tell = lambda check: None,
    on_file: OnFile = lambda table, done, count: None,
) -> Verification:
    """Compare the bronze tables of a pipeline, or those selected, with the files that they were read from."""
    started, lake, pipeline = time.monotonic(), Lake(project.lake, name), project.pipelines[name]
    checks = list[TableCheck]()
    sources = _chosen(pipeline, select)
    if not any(_has_begun(lake, source) for source in sources):
        return Verification(name, Outcome.NOTHING_TO_DO, f"{name} has read no files yet")
    try:
        with hold_lease(lake.lease(), name, "weir verify --files"):
            consumed = Ledger(lake).consumed_inputs()
            for source in sources:
                until = consumed.get(f"bronze.{source}", {}).get("arrivals") or 0
                checks.append(_check_source(project, lake, pipeline, source, until, rows, on_file))
                tell(checks[-1])
    except LeaseHeld as held:
        return Verification(name, Outcome.LEASED, str(held))
    except StorageFailed as failed:
        return Verification(name, Outcome.FAILED, str(failed), tuple(checks))
    return replace(Verification(name, *_verdict(checks), tuple(checks)), seconds=time.monotonic() - started)


def _chosen(pipeline: Pipeline, select: Collection[str]) -> list[str]:
    files = [f"bronze.{name}" for name, source in pipeline.sources.items() if isinstance(source, FileSource)]
    for name in select:
        if name not in files:
            why = f"{name!r} is no bronze table of files"
            raise UsageError("--select", name, why, did_you_mean(name, files))
    return [name.removeprefix("bronze.") for name in files if not select or name in select]


def _has_begun(lake: Lake, source: str) -> bool:
    """Where bronze is gone and arrivals are not, its files were read, and are missed."""
    return any(
        table_version(table) is not None for table in (lake.table(f"bronze.{source}"), lake.arrivals(source))
    )


def _check_source(
    project: Project, lake: Lake, pipeline: Pipeline, name: str, until: int, rows: int, on_file: OnFile
) -> TableCheck:
    started, table, source = time.monotonic(), f"bronze.{name}", pipeline.sources[name]
    assert isinstance(source, FileSource)
    taken = [row for row in read_arrivals(lake.arrivals(name)) if row["verdict"] == TAKEN]
    arrivals = [row for row in taken if row["chunk"] <= until]
    bronze = lake.table(table)
    stored = _sums_of_bronze(bronze, {row["chunk"] for row in taken if row["chunk"] > until})
    not_compared, first, kinds, problems = (
        list[tuple[str, str]](),
        list[Difference](),
        Counter[Kind](),
        list[str](),
    )
    files = rows_here = rows_again = 0
    for done, arrival in enumerate(sorted(arrivals, key=lambda row: (row["chunk"], row["path"])), 1):
        file, here = (
            make_arrived(arrival, project.landing),
            stored.pop((arrival["file_id"], arrival["chunk"]), Sum()),
        )
        try:
            why_not, again = _read_again(file, source, here)
        except ReadingBroken as broken:
            problems.append(
                f"{arrival['path']!r} is as it was, and cannot be read to its end: {broken.cause}"
            )
            why_not, again = broken.cause, Sum()
        if why_not:
            not_compared.append((arrival["path"], why_not))
        else:
            files, rows_here, rows_again = files + 1, rows_here + here.records, rows_again + again.records
            if here != again:
                _keep(_differences(bronze, arrival, file, source), kinds, first, rows)
        on_file(table, done, len(arrivals))
    for (file_id, chunk), unknown in stored.items():
        key = {"file": NEVER_ARRIVED, "file_id": file_id, "chunk": str(chunk)}
        _keep((Difference(Kind.ONLY_HERE, key, {}) for _ in range(unknown.records)), kinds, first, rows)
    found = TableCheck(
        table,
        rows_here,
        rows_again,
        kinds[Kind.ONLY_HERE],
        kinds[Kind.ONLY_RECOMPUTED],
        kinds[Kind.DIFFERENT],
        first=tuple(first),
        problems=tuple(problems),
        files=files,
        not_compared=tuple(not_compared),
    )
    return replace(found, seconds=time.monotonic() - started)


def _read_again(file: ArrivedFile, source: FileSource, here: Sum) -> tuple[str | None, Sum]:
    """Why the file cannot be compared, or what it gives now. ReadingBroken where it is as it was, and is not
    read to its end.
    """
    try:
        with open_landed(file.path, file.folder_of(source)) as opened:
            check_content(opened, file, source.format)
        found = Sum()
        for line, digest in _records_of_file(file, source):
            found.add(line, digest)
    except FileNotFoundError:
        return GONE, Sum()
    except UnreadableFile:
        return CHANGED, Sum()
    except ReadingBroken:
        if _is_as_it_was(file, source):
            raise
        return CHANGED, Sum()
    except StorageFailed:
        raise
    except OSError as error:
        return f"it cannot be opened: {say(error)}", Sum()
    is_only_problem = here.records > 0 and not here.has_records
    return (UNREAD if is_only_problem and found.has_records else None), found


def _is_as_it_was(file: ArrivedFile, source: FileSource) -> bool:
    try:
        with open_landed(file.path, file.folder_of(source)) as opened:
            check_content(opened, file, source.format)
    except StorageFailed:
        raise
    except (OSError, UnreadableFile):
        return False
    return True


def _records_of_file(file: ArrivedFile, source: FileSource) -> Iterator[tuple[int, bytes]]:
    for batch in read_records(file, source):
        for line, record, problem in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield line, _hash(line, record, problem)


def _sums_of_bronze(bronze: str, unfinished: Collection[int]) -> dict[Place, Sum]:
    """All its rows but those of chunks that a run has begun with: a row of no chunk, or of one that never
    was, must not pass.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds  # takes a third of a second

    found: dict[Place, Sum] = defaultdict(Sum)
    wanted = ["_file_id", "_chunk", "_line", "record", "_problem"]
    is_finished = ~ds.field("_chunk").isin(pa.array(unfinished, pa.int64()))
    for batch in scan_pieces(bronze, wanted, ROWS_AT_ONCE, is_finished, ["_chunk"]):
        for file_id, chunk, line, record, problem in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            found[file_id, chunk].add(line, _hash(line, record, problem))
    return found


def _differences(bronze: str, arrival: Row, file: ArrivedFile, source: FileSource) -> Iterator[Difference]:
    """The records of one file that are not the same in both places."""
    import pyarrow.dataset as ds  # takes a third of a second

    is_mine = (ds.field("_file_id") == arrival["file_id"]) & (ds.field("_chunk") == arrival["chunk"])
    here: dict[int, list[bytes]] = defaultdict(list)
    for batch in scan_pieces(
        bronze, ["_line", "record", "_problem"], ROWS_AT_ONCE, is_mine, ["_file_id", "_chunk"]
    ):
        for line, record, problem in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            here[line].append(_hash(line, record, problem))
    for line, digest in _records_of_file(file, source):
        stored = here.get(line, [])
        if digest in stored:
            stored.remove(digest)
        else:
            kind = Kind.DIFFERENT if stored else Kind.ONLY_RECOMPUTED
            yield _difference(kind, arrival, line, stored.pop() if stored else None, digest)
    yield from (
        _difference(Kind.ONLY_HERE, arrival, line, digest, None)
        for line in sorted(here)
        for digest in here[line]
    )


def _difference(kind: Kind, arrival: Row, line: int, here: bytes | None, again: bytes | None) -> Difference:
    shown = [f"hash {digest.hex()[:8]}" if digest else None for digest in (here, again)]
    return Difference(
        kind, {"file": repr(arrival["path"]), "line": str(line)}, {"record": (shown[0], shown[1])}
    )


def _keep(found: Iterator[Difference], kinds: Counter[Kind], first: list[Difference], rows: int) -> None:
    """Count them all, and keep the first ones."""
    for difference in found:
        kinds[difference.kind] += 1
        if len(first) < rows:
            first.append(difference)


def _hash(line: int, record: str | None, problem: str | None) -> bytes:
    """What a problem says is for people, and may be said in other words by another version."""
    text: Any = (line, record, problem is None)
    return hashlib.blake2b(repr(text).encode(errors="backslashreplace"), digest_size=16).digest()


def _verdict(checks: list[TableCheck]) -> tuple[Outcome, str]:
    different = [check.table for check in checks if not check.is_equal]
    not_compared = sum(len(check.not_compared) for check in checks)
    more = f"; not compared: {count(not_compared, 'file')}" if not_compared else ""
    if different:
        differ = "differs" if len(different) == 1 else "differ"
        found = f"{len(different):,} of {count(len(checks), 'bronze table')} {differ} from the landed files"
        return Outcome.DIFFERENT, f"{found}: {', '.join(different)}{more}"
    files, records = sum(check.files or 0 for check in checks), sum(check.rows for check in checks)
    if not files:
        return Outcome.NOTHING_TO_DO, f"no file that was read is still there to be compared{more}"
    return (
        Outcome.OK,
        f"bronze has what {count(files, 'file says', 'files say')}, {count(records, 'row')}{more}",
    )
