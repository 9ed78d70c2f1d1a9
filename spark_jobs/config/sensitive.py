"""Which values are shown nowhere but in the tables themselves: those of columns that a pipeline file calls sensitive."""

import re
from dataclasses import dataclass

from spark_jobs.config.columns import own_columns
from spark_jobs.config.pipeline import Column, Gold, Pipeline, Silver

MASK = "•••"


@dataclass(frozen=True)
class Sensitive:
    """The columns of one table that are sensitive, and those that are known not to be; in lower case, as columns are compared."""

    hidden: frozenset[str]
    open: frozenset[str]

    def hides(self, column: str | None) -> bool:
        """Whether a value must not be shown. One of no single column, as of a whole record, may hold any of the sensitive ones."""
        return bool(self.hidden) and (column or "").lower() not in self.open


def sensitive_columns(pipeline: Pipeline, table: str) -> Sensitive:
    """By a table's full name. What is taken from a dimension is as sensitive as it is there."""
    layer, _, name = table.partition(".")
    if layer == "dimension" and name in pipeline.dimensions:
        dimension = pipeline.dimensions[name]
        return _of(_hidden(dimension.columns), frozenset(own_columns(dimension)))
    if layer == "silver" and name in pipeline.silver:
        return _of_silver(pipeline, pipeline.silver[name])
    if layer == "gold" and name in pipeline.gold:
        return _of_gold(pipeline, pipeline.gold[name])
    return _of(_hidden_anywhere(pipeline), frozenset())


def _of_silver(pipeline: Pipeline, silver: Silver) -> Sensitive:
    hidden, known = set(_hidden(silver.columns)), set(own_columns(silver))
    for name, lookup in silver.lookup.items():
        members = pipeline.dimensions[name].columns if name in pipeline.dimensions else {}
        hidden |= set(lookup.take) & _hidden(members)
        hidden |= set(lookup.on) & _hidden(members)
        known |= set(lookup.take)
    hidden |= _computed_from(hidden, _expressions(silver.columns))
    return _of(frozenset(hidden), frozenset(known))


def _of_gold(pipeline: Pipeline, gold: Gold) -> Sensitive:
    """A measure over a sensitive column is sensitive, but for a count. Tables by SQL or Python may rename, so there only names tell."""
    hidden = _hidden_anywhere(pipeline)
    counted = {name: sql for name, sql in gold.measures.items() if not re.match(r"\s*count\s*\(", sql, re.IGNORECASE)}
    known = frozenset({*gold.group_by, *gold.measures, "window_start", "window_end", "_row_count", "_revision"})
    return _of(hidden | _computed_from(hidden, counted), known)


def _of(hidden: frozenset[str], known: frozenset[str]) -> Sensitive:
    lower = frozenset(name.lower() for name in hidden)
    return Sensitive(lower, frozenset(name.lower() for name in known) - lower)


def _hidden(columns: dict[str, Column]) -> frozenset[str]:
    """Those that say so, and those that are computed from them."""
    named = frozenset(name for name, column in columns.items() if column.sensitive)
    return named | _computed_from(named, _expressions(columns))


def _expressions(columns: dict[str, Column]) -> dict[str, str]:
    return {name: column.sql for name, column in columns.items() if column.sql}


def _hidden_anywhere(pipeline: Pipeline) -> frozenset[str]:
    groups = [table.columns for table in pipeline.dimensions.values()] + [table.columns for table in pipeline.silver.values()]
    return frozenset().union(*(_hidden(columns) for columns in groups))


def _computed_from(hidden: set[str] | frozenset[str], expressions: dict[str, str]) -> frozenset[str]:
    """The columns whose SQL names a hidden one."""
    words = {name.lower() for name in hidden}
    return frozenset(name for name, sql in expressions.items() if words & {word.lower() for word in re.findall(r"\w+", sql)})
