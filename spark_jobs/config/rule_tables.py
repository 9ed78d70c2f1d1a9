"""Which other tables a rule reads when a batch is judged by it."""

from spark_jobs.config.expectation_types import CUSTOM_SQL
from spark_jobs.config.expectations import Rule
from spark_jobs.config.sql import referenced_tables

BATCH = "batch"


def tables_read(rule: Rule) -> list[str]:
    """Tables of the pipeline by their full names, beside the one that is judged."""
    if rule.type == CUSTOM_SQL:
        query = str(rule.kwargs["unexpected_rows_query"]).format(batch=BATCH)
        return [name for name in referenced_tables(query) if name != BATCH]
    return [rule.kwargs["other_table"]] if "other_table" in rule.kwargs else []
