"""Rules are edges of the graph: a table that judging another one reads comes before it."""

from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from spark_jobs.config.errors import ConfigError, Problem
from spark_jobs.config.expectations import Rule
from spark_jobs.config.graph import inputs_of, table_names, tables_read_by
from spark_jobs.config.pipeline import Pipeline

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
