"""The fields of a text line, by the named groups of a regular expression that the whole line must match.

The expression is RE2's, in Arrow: whatever it says, and whatever the line, it takes time in proportion to
the line. Java's, which Spark speaks, may take for ever on a line that somebody sends on purpose; this is why
these lines pass through Python.
"""

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.regexes import group_names
from spark_jobs.config.types import is_complex
from spark_jobs.silver.decoding import Decoding
from spark_jobs.silver.fields import alone, nothing_lost
from spark_jobs.silver.nested import nested_in_text


def line_fields(line: Column, pattern: str) -> Column:
    """A struct with the text of each group; NULL for a line that does not match."""
    names = group_names(pattern)
    whole = f"^(?:{pattern})$"

    def extract(lines: pa.Array) -> pa.Array:
        return pc.extract_regex(lines, whole)

    fields: Column = F.arrow_udf(extract, f"struct<{','.join(f'`{name}`:string' for name in names)}>")(line)  # type: ignore[attr-defined]
    return fields


def extract_lines(records: DataFrame, how: Decoding) -> DataFrame:
    """The same of text as extract_fields of JSON. Header lines and comments give no row that could be
    published, and nothing is asked of them: they are filtered.
    """
    lines = (
        records.withColumn("_fields", line_fields(F.col("_record"), how.fields)) if how.fields else records
    )
    is_record = ~_is_passed_over(how)
    lines = lines.withColumn("_problem", F.when(is_record, F.col("_problem")))
    is_broken = F.lit(False)
    if how.fields:
        is_broken = is_record & F.col("_fields").isNull() & F.col("_problem").isNull()
    wrong = F.when(is_broken, F.lit("the line does not match the fields of its source")).alias("_wrong")
    leaves = {name: _line_leaf(how, name) for name in how.in_record}
    nested = [
        nested_in_text(text).alias(f"_value_{name}")
        for name, text in leaves.items()
        if is_complex(how.columns[name].type)
    ]
    texts = [text.alias(f"_text_{name}") for name, text in leaves.items()]
    return lines.select(
        "*", wrong, nothing_lost(), is_record.alias("_has_element"), *alone(), *texts, *nested
    )


def _is_passed_over(how: Decoding) -> Column:
    """By the declaration of the source, whatever the line says."""
    is_header = F.col("_line") <= how.skip_lines
    if how.comment is None:
        return is_header
    return is_header | F.coalesce(F.startswith(F.col("_record"), F.lit(how.comment)), F.lit(False))


def _line_leaf(how: Decoding, name: str) -> Column:
    """The whole line, or one of its fields; a field that is empty is NULL."""
    origin = how.columns[name].from_ or name
    return F.col("_record") if origin == "value" else F.nullif(F.col("_fields").getField(origin), F.lit(""))
