"""What a table takes of each record, as text, by the format of its source; and of where the record came
from.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.path_template import PATH_PART, is_part
from spark_jobs.config.sources import FileSource
from spark_jobs.silver.decoding import Decoding
from spark_jobs.silver.fields import extract_fields
from spark_jobs.silver.text_lines import extract_lines, line_fields

OTHER_PATH = "the path of its file is another one than its source says"


def extract_record(records: DataFrame, how: Decoding) -> DataFrame:
    """Adds for each column with a path `_text_<column>`, or `_value_<column>` where it is nested; `_wrong`,
    what is to say against the record as a whole; `_lost`, the columns whose number lost digits; and
    `_has_element`. One row per element where the table explodes.
    """
    extract = extract_lines if how.source_format == "text" else extract_fields
    return _with_origins(extract(records, how), how)


def _with_origins(rows: DataFrame, how: Decoding) -> DataFrame:
    """Parts of the path are text. Of the others it only says whether there is a value: they are of their type
    as they are.
    """
    origins = how.origins
    if any(map(is_part, origins.values())):
        rows = _with_path(rows, how)
    texts = {f"_text_{name}": _text_of(origin) for name, origin in origins.items()}
    return rows.withColumns(texts) if texts else rows


def _with_path(rows: DataFrame, how: Decoding) -> DataFrame:
    """Adds `_path`, and to `_wrong` that a row's file has another path than the source says."""
    source = how.source
    assert isinstance(source, FileSource)
    folder = f"{source.path}/"
    below = F.when(F.startswith("_file", F.lit(folder)), F.substr("_file", F.lit(len(folder) + 1)))
    rows = rows.withColumn("_path", line_fields(below, str(source.path_fields)))
    is_other = F.col("_has_element") & F.col("_problem").isNull() & F.col("_path").isNull()
    return rows.withColumn("_wrong", F.coalesce("_wrong", F.when(is_other, F.lit(OTHER_PATH))))


def _text_of(origin: str) -> Column:
    if is_part(origin):
        return F.nullif(F.col("_path").getField(origin.removeprefix(PATH_PART)), F.lit(""))
    return F.col(origin).cast("string")
