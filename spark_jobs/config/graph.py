"""Which tables a table is made from, and an order in which every table stands after its inputs.

Reads SQL files by their words alone (comments and quoted text aside), so that DAGs can order tables without a
SQL parser.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from spark_jobs.config.document import name_in_project
from spark_jobs.config.errors import ConfigError, Problem, did_you_mean
from spark_jobs.config.expectations import Rule
from spark_jobs.config.files import read_text
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName

_WORDS = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"
    | (?<![\w.`]) (?:`?(?P<pipeline>[A-Za-z]\w*)`? \s*\.\s*)?
      `?(?P<layer>bronze|dimension|silver|gold)`? \s*\.\s* `?(?P<name>[A-Za-z]\w*)`? (?![\w`]|\s*\.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def table_names(pipeline: Pipeline) -> list[str]:
    """The full names of all tables, in the order of the data."""
    return [f"{layer}.{name}" for layer, name, _ in pipeline.tables()]


def node_names(pipeline: Pipeline) -> list[str]:
    """The full names of all tables and sinks: what a run brings up to date."""
    return [f"{layer}.{name}" for layer, name, _ in pipeline.nodes()]


def keeps_late(pipeline: Pipeline, table: str) -> bool:
    """Whether rows that come too late for this table are set aside, and do not count there."""
    layer, name = TableName(table).parts
    return layer == "gold" and name in pipeline.gold and pipeline.gold[name].keeps_late


def inputs_of(pipeline: Pipeline, table: str, conf: Path) -> list[str]:
    """The full names of the tables that a table is made from, each once, in the order in which they are
    named.
    """
    layer, name = TableName(table).parts
    if layer == "dimension":
        dimension = pipeline.dimensions[name]
        return [f"bronze.{dimension.from_}", *(f"dimension.{other}" for other in dimension.lookup)]
    if layer == "silver":
        silver = pipeline.silver[name]
        return [f"bronze.{silver.from_}", *(f"dimension.{dimension}" for dimension in silver.lookup)]
    if layer == "gold":
        return gold_inputs(pipeline.gold[name], conf)
    if layer == "sink":
        return [pipeline.sinks[name].from_]
    return []


def ended_members(dimension: str) -> str:
    """The table that remembers which members of a dimension have ended."""
    return f"deleted.dimension.{dimension}"


def ended_tables(pipeline: Pipeline, silver: str) -> list[str]:
    """Those of the dimensions for whose members a row of this silver table may wait: of one that has ended
    there is nothing to wait for.
    """
    waits = [
        name for name, lookup in pipeline.silver[silver].lookup.items() if lookup.if_missing != "unknown"
    ]
    return [ended_members(name) for name in waits if pipeline.dimensions[name].has_ends]


def order_tables(pipeline: Pipeline, conf: Path) -> dict[str, tuple[str, ...]]:
    """Every table and sink with its direct inputs, each after these. ConfigError where a table is not there
    or the tables form a ring.

    Tables of other pipelines stand among the inputs, as in retail.silver.orders; whether they are there is
    for checks/ to say.
    """
    names = node_names(pipeline)
    inputs = {table: tuple(inputs_of(pipeline, table, conf)) for table in names}
    file = name_in_project(conf / "pipelines" / f"{pipeline.name}.yml", conf.parent)
    own = {
        table: tuple(name for name in needed if other_pipeline(name) is None)
        for table, needed in inputs.items()
    }
    missing = [(table, name) for table, needed in own.items() for name in needed if name not in inputs]
    if missing:
        found = [
            Problem(file, 1, table, name, f"there is no table {name!r}", did_you_mean(name, names))
            for table, name in missing
        ]
        raise ConfigError(found)
    try:
        return {table: inputs[table] for table in TopologicalSorter(own).static_order()}
    except CycleError as error:
        ring = " -> ".join(error.args[1])
        problem = Problem(
            file, 1, "gold", ring, f"the tables form a ring: {ring}", "let one of them read another table"
        )
        raise ConfigError([problem]) from error


def gold_inputs(gold: Gold, conf: Path) -> list[str]:
    sides = [side.from_ for side in gold.join.sides.values()] if gold.join else []
    named = [*([gold.from_] if gold.from_ else []), *sides, *gold.inputs]
    if gold.sql is not None:
        named += tables_named_in(read_text(conf / gold.sql), pipeline_names(conf))
    return list(dict.fromkeys(named))


def pipelines_read(pipeline: Pipeline, conf: Path) -> list[str]:
    """The other pipelines whose tables this one reads, each once; a SQL file that cannot be read is a problem
    of its own.
    """
    found: list[str] = []
    for gold in pipeline.gold.values():
        try:
            found += [other for table in gold_inputs(gold, conf) if (other := other_pipeline(table))]
        except (OSError, UnicodeDecodeError):
            continue
    return [name for name in dict.fromkeys(found) if name != pipeline.name]


def pipeline_names(conf: Path) -> list[str]:
    return sorted(path.stem for path in (conf / "pipelines").glob("*.yml"))


def tables_read_by(rule: Rule, pipelines: Collection[str] = ()) -> list[str]:
    """The other tables that judging a rule reads, by full name, each once; those of these other pipelines,
    too.
    """
    other, query = rule.kwargs.get("other_table"), rule.kwargs.get("unexpected_rows_query")
    return (
        [other]
        if isinstance(other, str)
        else tables_named_in(query, pipelines)
        if isinstance(query, str)
        else []
    )


def tables_named_in(sql: str, pipelines: Collection[str] = ()) -> list[str]:
    """The words <layer>.<table> of a SQL text, each once, and <pipeline>.<layer>.<table> where it is one of
    these pipelines.

    Where a dot follows they qualify a column, and the table stands elsewhere as well.
    """
    found = [match for match in _WORDS.finditer(sql) if match["layer"]]
    parts = [
        [match[part].lower() for part in ("pipeline", "layer", "name") if match[part]] for match in found
    ]
    return list(dict.fromkeys(".".join(words) for words in parts if len(words) == 2 or words[0] in pipelines))


# Rules are edges of the graph: a table that judging another one reads comes before it.


RING_HINT = "remove one of these rules, or let it read a table that is made before"


def is_any(_rule: Rule) -> bool:
    return True


def is_blocking(rule: Rule) -> bool:
    return rule.on_fail == "block"


def rule_edges(
    rules: Mapping[str, Sequence[Rule]], which: Callable[[Rule], bool] = is_any
) -> dict[str, tuple[str, ...]]:
    """Per table the others of its pipeline that these of its rules read."""
    found = {
        table: [other for rule in judged if which(rule) for other in tables_read_by(rule)]
        for table, judged in rules.items()
    }
    return {
        table: tuple(dict.fromkeys(other for other in others if other != table))
        for table, others in found.items()
        if others
    }


def find_ring(pipeline: Pipeline, edges: Mapping[str, Sequence[str]], conf: Path) -> list[str]:
    """Tables of which each would have to come before the next, by what they are made from and by their rules;
    empty where there is none.
    """
    known = table_names(pipeline)
    graph = {
        table: [*_inputs(pipeline, table, conf), *(other for other in edges.get(table, ()) if other in known)]
        for table in known
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def check_order(pipeline: Pipeline, rules: Mapping[str, Sequence[Rule]], conf: Path) -> None:
    """ConfigError where tables would wait for one another."""
    if ring := find_ring(pipeline, rule_edges(rules), conf):
        first = next((table for table in ring if table in rules), ring[0])
        file = f"expectations/{pipeline.name}/{first}.yml"
        raise ConfigError([Problem(file, 1, "expectations", " -> ".join(ring), say_ring(ring), RING_HINT)])


def say_ring(ring: Sequence[str]) -> str:
    return (
        "the tables form a ring, by what they are made from and by what their rules read:"
        f" {' -> '.join(ring)}"
    )


def _inputs(pipeline: Pipeline, table: str, conf: Path) -> list[str]:
    try:
        return inputs_of(pipeline, table, conf)
    except (OSError, UnicodeDecodeError):
        return []  # its SQL file cannot be read, which is a problem of its own
