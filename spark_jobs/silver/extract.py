"""What a table takes of each record, as text, by the format of its source; and of where the record came
from.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.silver.decoding import Decoding
from spark_jobs.silver.fields import extract_fields
from spark_jobs.silver.text_lines import extract_lines


def extract_record(records: DataFrame, how: Decoding) -> DataFrame:
    """Adds for each column with a path `_text_<column>`, or `_value_<column>` where it is nested; `_wrong`,
    what is to say against the record as a whole; `_lost`, the columns whose number lost digits; and
    `_has_element`. One row per element where the table explodes.
    """
    extract = extract_lines if how.source_format == "text" else extract_fields
    return _with_origins(extract(records, how), how)


def _with_origins(rows: DataFrame, how: Decoding) -> DataFrame:
    """Text of them only says whether there is a value: they are of their type as they are."""
    texts = {f"_text_{name}": F.col(origin).cast("string") for name, origin in how.origins.items()}
    return rows.withColumns(texts) if texts else rows
