"""Definitions of tables against the rows that are there: what changed since they were made, and whether the
rows would still follow.
"""

from collections.abc import Collection
from dataclasses import replace

from spark_jobs.config.definition import definition_parts, harmful_changes, harmless_changes
from spark_jobs.config.document import read_document
from spark_jobs.config.errors import ConfigError, Problem
from spark_jobs.config.loading import pipeline_file
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.ledger_tables import Definition
from spark_jobs.run.plan import Plan

SAME_CLUSTER = (
    "; brokers of the same cluster: name an old and a new one together for one run, as its offsets belong to"
    " the cluster"
)
FOLLOWS = {"gold": "it is rebuilt", "sink": "what was delivered stays as it is"}


def redefined_tables(plan: Plan, named: Collection[str] | None = None) -> dict[str, list[str]]:
    """The tables of the plan, or these, whose rows follow another definition than the pipeline file gives
    now, with what has changed.
    """
    found = {}
    for table, known in plan.definitions.items():
        if table in (plan.tables if named is None else named):
            found[table] = harmful_changes(
                table, known.parts, definition_parts(plan.pipeline, table, plan.conf)
            )
    return {table: changes for table, changes in found.items() if changes}


def check_definitions(plan: Plan) -> None:
    """ConfigError where rows that are published would not follow the definition: the table would be a
    function of nothing.
    """
    where, name = f"conf/pipelines/{plan.pipeline.name}.yml", plan.pipeline.name
    if not plan.definitions and plan.ledger.rows("runs", ["run_id"]):
        message = f"{plan.lake.root}/{name} was made by an earlier version of Weir, which kept no definitions"
        raise ConfigError(
            [
                Problem(
                    "conf/lakehouse.yml",
                    1,
                    "lake",
                    plan.lake.root,
                    message,
                    "load into a new lake, or move this one away",
                )
            ]
        )
    problems = []
    for table, changes in redefined_tables(plan).items():
        message = (
            f"the definition of {table} has changed since its rows were made, and they would not follow:"
            f" {', '.join(changes)}"
        )
        is_bronze = TableName(table).is_bronze
        way = "declare a new source under another name" if is_bronze else f"run `weir rebuild {name} {table}`"
        same = SAME_CLUSTER if is_bronze and changes == ["servers"] else ""
        line = _line_of(plan, table, changes[0])
        problems.append(Problem(where, line, table, table, message, f"take the change back, or {way}{same}"))
    if problems := [*problems, *_redefined_above(plan, plan.tables)]:
        raise ConfigError(problems)


def check_definitions_above(plan: Plan, rebuilt: Collection[str]) -> None:
    """ConfigError where a table would be rebuilt from one whose rows do not follow the pipeline file, and
    which is not rebuilt with it.
    """
    if problems := _redefined_above(plan, rebuilt):
        raise ConfigError(problems)


def _redefined_above(plan: Plan, made: Collection[str]) -> list[Problem]:
    """A problem for each input of these tables whose rows do not follow the pipeline file, and which is not
    among them.
    """
    where, problems = f"conf/pipelines/{plan.pipeline.name}.yml", []
    redefined = redefined_tables(
        plan, {source for table in made for source in plan.tables[table] if source not in made}
    )
    for table in made:
        for source in (source for source in plan.tables[table] if source in redefined):
            message = (
                f"{table} is made from {source}, whose definition has changed since its rows were made:"
                f" {', '.join(redefined[source])}"
            )
            together = (
                ""
                if TableName(source).is_bronze
                else f", or run `weir rebuild {plan.pipeline.name} {source}`, which rebuilds both"
            )
            line = _line_of(plan, source, redefined[source][0])
            problems.append(Problem(where, line, source, source, message, f"take the change back{together}"))
    return problems


def _line_of(plan: Plan, table: str, change: str) -> int:
    """Where the pipeline file has what changed, as in columns.amount; where it no longer has it, the line of
    the table.
    """
    layer, name = TableName(table).parts
    section = {"bronze": "sources", "dimension": "dimensions", "sink": "sinks"}.get(layer, layer)
    path = pipeline_file(plan.conf.parent, plan.pipeline.name)
    return read_document(path, path.name).line_of((section, name, *change.split(".")))


def dimensions_beside(plan: Plan) -> list[str]:
    """The dimensions that facts of the plan, or dimensions of it, look up, and that are not in the plan and
    have no definition yet.
    """
    looking = (inputs for table, inputs in plan.tables.items() if TableName(table).has_keys)
    named = dict.fromkeys(
        source for inputs in looking for source in inputs if TableName(source).is_in("dimension")
    )
    return [
        dimension for dimension in named if dimension not in plan.tables and dimension not in plan.definitions
    ]


def note_definitions(plan: Plan, run_id: str) -> tuple[Plan, list[str]]:
    """Write down the definitions of new tables, and harmless changes of others; these are named. A new
    dimension that others look up is among them where it was not selected: they need it, so it is created,
    without rows.
    """
    fresh: dict[str, Definition] = {}
    notes = []
    for table in [*plan.tables, *dimensions_beside(plan)]:
        parts, known = definition_parts(plan.pipeline, table, plan.conf), plan.definitions.get(table)
        if known is None:
            fresh[table] = Definition(1, parts, {})
        elif changes := harmless_changes(table, known.parts, parts):
            fresh[table] = replace(known, parts=parts)
            follows = FOLLOWS.get(TableName(table).layer, "the rows that are there stay as they are")
            notes.append(f"{table}: {', '.join(changes)} changed since the last run; {follows}")
    plan.ledger.write_definitions(run_id, fresh)
    return replace(plan, definitions=plan.definitions | fresh), notes
