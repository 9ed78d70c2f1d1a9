"""What a sink must know of its table: whether rows only ever come, what identifies a row, and which columns
are delivered.
"""

from pathlib import Path

from spark_jobs.config.columns import aggregate_columns, dimension_columns, silver_columns
from spark_jobs.config.names import name_at_home
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.config.sinks import AnySink, ConsoleSink, MemorySink, SystemColumns, declared_key
from spark_jobs.config.table_name import TableName

Columns = dict[str, str]


def why_rows_change(pipeline: Pipeline, table: str) -> str | None:
    """Why rows of a table may change or go once they are published; None of a table that only grows."""
    layer, name = TableName(table).parts
    if layer == "dimension":
        return "a newer version of a member replaces the one before, or ends its interval"
    if layer == "silver":
        silver = pipeline.silver[name]
        if silver.key:
            return f"a newer version of a {', '.join(silver.key)} replaces the one before"
        looked_up = ", ".join(silver.lookup)
        if silver.lookup:
            return f"a row is corrected when a member of {looked_up} changes"
        tags = pipeline.tagging(table)
        return "a row is corrected when a rule with on_fail: tag changes" if tags else None
    gold = pipeline.gold[name]
    if gold.is_native:
        return None  # what a native query has emitted it never changes
    if gold.mode == "complete":
        return "it is made as a whole whenever one of its inputs moves"
    if gold.mode == "update":
        return "a window is replaced whenever one of its rows comes"
    if gold.late != "keep":
        return "a late row reopens its window (late: repair)"
    home, source = pipeline.home_of(gold.from_ or ""), name_at_home(gold.from_ or "")
    below = why_rows_change(home, source) if home else "nothing is known of its table"
    return f"the rows of {gold.from_} change: {below}" if below else None


def table_key(pipeline: Pipeline, table: str) -> list[str] | None:
    """What identifies a row by the table's own definition; None of rows without a key, and of tables by SQL
    or Python.
    """
    layer, name = TableName(table).parts
    if layer == "dimension":
        dimension = pipeline.dimensions[name]
        return [*dimension.key, *(["_valid_from"] if dimension.history == "scd2" else [])]
    if layer == "silver":
        return list(pipeline.silver[name].key or ()) or None
    gold = pipeline.gold[name]
    return (
        [*(["window_start", "window_end"] if gold.window else []), *gold.group_by]
        if gold.from_ and not gold.is_native
        else None
    )


def sink_key(pipeline: Pipeline, sink: AnySink) -> list[str] | None:
    """What the sink tells rows apart by."""
    known = table_key(pipeline, sink.from_)
    return known if known is not None else declared_key(sink)


def known_columns(pipeline: Pipeline, table: str) -> Columns | None:
    """The columns of a table with their types; None of a table by SQL or Python."""
    layer, name = TableName(table).parts
    if layer == "dimension":
        return dimension_columns(pipeline, name)
    if layer == "silver":
        return silver_columns(pipeline, name)
    gold = pipeline.gold[name]
    return aggregate_columns(pipeline, gold) if gold.from_ or gold.join else None


def delivered_columns(pipeline: Pipeline, sink: AnySink, columns: list[str]) -> list[str]:
    """Of these columns of the table those that the sink delivers, in its order."""
    if sink.columns is not None:
        system = [
            name
            for name in SystemColumns
            if name in columns and name in (table_key(pipeline, sink.from_) or ())
        ]
        return [*sink.columns, *system]
    return [name for name in columns if not name.startswith("_") or name in SystemColumns]


def hidden_columns(pipeline: Pipeline, sink: AnySink, conf: Path) -> list[str]:
    """The sensitive columns that a sink would hand on without having named them."""
    if sink.columns is not None or isinstance(sink, ConsoleSink | MemorySink):
        return []
    hidden, known = sensitive_columns(pipeline, sink.from_, conf), known_columns(pipeline, sink.from_)
    if known is None:
        return sorted(hidden)
    return [name for name in delivered_columns(pipeline, sink, list(known)) if name in hidden]
