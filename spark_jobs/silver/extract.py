"""What a table takes of each record, as text: by the format of its source."""

from pyspark.sql import DataFrame

from spark_jobs.silver.decoding import Decoding
from spark_jobs.silver.fields import extract_fields
from spark_jobs.silver.text_lines import extract_lines


def extract_record(records: DataFrame, how: Decoding) -> DataFrame:
    """Adds for each column with a path `_text_<column>`, or `_value_<column>` where it is nested; `_wrong`,
    what is to say against the record as a whole; `_lost`, the columns whose number lost digits; and
    `_has_element`. One row per element where the table explodes.
    """
    return extract_lines(records, how) if how.source_format == "text" else extract_fields(records, how)
