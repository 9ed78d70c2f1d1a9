"""Batches of records: (line, record, problem), one row per record; bounded in rows and bytes, whatever the
file holds. How many of them may be broken before the whole file is refused.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.config.text import count

RECORDS = pa.schema([("line", pa.int64()), ("record", pa.string()), ("problem", pa.string())])
ROWS_PER_BATCH = 20_000
BYTES_PER_BATCH = 8 * 1024 * 1024
WIDEST_CHARACTER = 4

Record = tuple[int, str | None, str | None]


def make_batches(records: Iterable[Record], longest: int) -> Iterator[pa.RecordBatch]:
    """A record of more than `longest` bytes is set aside: its line and size are kept, not its text."""
    rows: list[Record] = []
    size = 0
    for row in records:
        length = measure(row[1], longest)
        rows.append(row if length <= longest else set_aside(row[0], length, longest))
        size += length
        if len(rows) >= ROWS_PER_BATCH or size >= BYTES_PER_BATCH:
            yield make_batch(rows)
            rows, size = [], 0
    if rows:
        yield make_batch(rows)


def make_batch(rows: list[Any]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, RECORDS.types, strict=True)], schema=RECORDS
    )


def measure(text: str | None, longest: int) -> int:
    """The bytes of a text, counted only where they could be more than `longest`; else at least its
    characters.
    """
    if text is None:
        return 0
    return len(text) if len(text) * WIDEST_CHARACTER <= longest else len(text.encode(errors="surrogatepass"))


def set_aside(line: int, size: int, longest: int) -> Record:
    before, after = set_aside_words(longest)
    return line, None, f"{before}{size:,}{after}"


def set_aside_words(longest: int) -> tuple[str, str]:
    """What is said before and behind the size of a record that is too long."""
    return "a record of ", f" bytes, longer than bytes_per_record allows: {longest:,}"


# How many records of a file cannot be read. A few are set aside one by one; of a file that is broken
# throughout, the file is.


MOST_BROKEN = 1_000
BROKEN_SHARE = 10
"""A file is refused as a whole where more than MOST_BROKEN of its records, and more than one in so many, have
the same problem.
"""

NOT_UTF8 = "are not UTF-8 text"
NO_OBJECTS = "are no JSON objects"
OTHER_WIDTH = "have another number of fields than the header"
OTHER_NUMBER = "have another number of fields than `header` of the source names, or than the first row has"
TOO_LONG = "are longer than bytes_per_record"
KEYS_TWICE = "have a map with a key twice"
NO_TIMES = "have a time beyond the years 1 to 9999"

HINTS = {
    NOT_UTF8: "it seems to be text in another encoding, such as Latin-1 or Windows-1252: land it as UTF-8",
    NO_OBJECTS: "a file of this format has one JSON object a line",
    OTHER_WIDTH: "look at its header and at the delimiter of its source",
    OTHER_NUMBER: "look at the header and the delimiter of its source",
    KEYS_TWICE: "look at what wrote it",
    NO_TIMES: "look at the unit of its times, and at what wrote it",
    TOO_LONG: "look at its line ends, or let the source take longer records",
}

ONE_ARRAY = "it begins as one JSON array; write its objects one a line, as `jq -c '.[]'` does"
ONE_OBJECT = "it begins as one JSON object over many lines; write one object a line, as `jq -c .` does"


class Tally:
    """Counts the records of a file, and those with a problem, by what is wrong with them."""

    def __init__(self) -> None:
        self.total = 0
        self.broken: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        self.hints = dict(HINTS)

    def add(self, problem: str, line: int) -> None:
        self.broken[problem] += 1
        self.first.setdefault(problem, line)

    def check(self) -> None:
        """UnreadableFile where the same is wrong with too many of them."""
        for problem, number in self.broken.items():
            if number > MOST_BROKEN and number * BROKEN_SHARE > self.total:
                where = f"the first is line {self.first[problem]:,}"
                raise UnreadableFile(
                    f"{number:,} of its {count(self.total, 'record')} {problem}, {where};"
                    f" {self.hints[problem]}"
                )
