"""How many records of a file cannot be read. A few are set aside one by one; of a file that is broken
throughout, the file is.
"""

from collections import Counter

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.config.text import count

MOST_BROKEN = 1_000
BROKEN_SHARE = 10
"""A file is refused as a whole where more than MOST_BROKEN of its records, and more than one in so many, have
the same problem.
"""

NOT_UTF8 = "are not UTF-8 text"
NO_OBJECTS = "are no JSON objects"
OTHER_WIDTH = "have another number of fields than the header"
TOO_LONG = "are longer than bytes_per_record"
KEYS_TWICE = "have a map with a key twice"

HINTS = {
    NOT_UTF8: "it seems to be text in another encoding, such as Latin-1 or Windows-1252: land it as UTF-8",
    NO_OBJECTS: "a file of this format has one JSON object a line",
    OTHER_WIDTH: "look at its header and at the delimiter of its source",
    KEYS_TWICE: "look at what wrote it",
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
