"""The fields of a text line, by the named groups of a regular expression that the whole line must match.

The expression is RE2's, in Arrow: whatever it says, and whatever the line, it takes time in proportion to the line. Java's, which Spark
speaks, may take for ever on a line that somebody sends on purpose; this is why these lines pass through Python.
"""

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config.regexes import group_names


def line_fields(line: Column, pattern: str) -> Column:
    """A struct with the text of each group; NULL for a line that does not match."""
    names = group_names(pattern)
    whole = f"^(?:{pattern})$"

    def extract(lines: pa.Array) -> pa.Array:
        return pc.extract_regex(lines, whole)

    fields: Column = F.arrow_udf(extract, f"struct<{','.join(f'`{name}`:string' for name in names)}>")(line)  # type: ignore[attr-defined]
    return fields
