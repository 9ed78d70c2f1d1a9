"""A table as its rules see it: the columns that they may name, and the other tables that they may read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.config.checks_sql import Columns
from spark_jobs.config.columns import OF_PROCESSING, own_columns
from spark_jobs.config.graph import inputs_of, table_names
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.row_order import Keys


@dataclass(frozen=True)
class JudgedTable:
    """`columns` are None where they cannot be told, as of a table made by Python. `others` are the tables that may be read."""

    name: str
    columns: Columns | None
    own: Columns
    others: Mapping[str, Columns | None]
    keys: Keys

    @property
    def stable(self) -> Columns | None:
        """The columns without those that tell of processing: a verdict on them would not be one on the data."""
        return {name: kind for name, kind in self.columns.items() if name not in OF_PROCESSING} if self.columns is not None else None


def judged_table(pipeline: Pipeline, table: str, tables: Mapping[str, Columns | None], keys: Keys, conf: Path) -> JudgedTable:
    """`tables` are all tables of the pipeline, with their columns where they are known."""
    made = _made_from(pipeline, table, conf)
    others = {name: known for name, known in tables.items() if not name.startswith("bronze.") and name not in made}
    layer, _, name = table.partition(".")
    declared = {"dimension": pipeline.dimensions.get(name), "silver": pipeline.silver.get(name)}.get(layer)
    return JudgedTable(table, tables[table], own_columns(declared) if declared else {}, others, keys)


def _made_from(pipeline: Pipeline, table: str, conf: Path) -> set[str]:
    """The table itself and all that are made from it: they are there only after it is judged."""
    made, inputs = {table}, {name: _inputs(pipeline, name, conf) for name in table_names(pipeline)}
    while more := {name for name, needed in inputs.items() if name not in made and made & needed}:
        made |= more
    return made


def _inputs(pipeline: Pipeline, table: str, conf: Path) -> set[str]:
    try:
        return set(inputs_of(pipeline, table, conf))
    except (OSError, UnicodeDecodeError):
        return set()  # its SQL file cannot be read, which is a problem of its own
