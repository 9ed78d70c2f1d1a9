"""Checks between pipelines: the tables of others that a pipeline reads or is started by are there, and no
ring of pipelines is formed.
"""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from spark_jobs.config.checks.sql import Columns
from spark_jobs.config.columns import aggregate_columns, dimension_columns, silver_columns
from spark_jobs.config.graph import pipeline_names, pipelines_read
from spark_jobs.config.loading import pipeline_file
from spark_jobs.config.names import READABLE, SIDES, other_pipeline
from spark_jobs.config.pipeline import Pipeline, TableSchedule
from spark_jobs.config.validation import Report


def tables_of_others(pipeline: Pipeline, others: Iterable[Pipeline]) -> dict[str, Columns | None]:
    """What a pipeline may read of others, by whole names, with the columns where they are known. A name like
    late.silver.x is taken.
    """
    found: dict[str, Columns | None] = {}
    for other in (other for other in others if other.name != pipeline.name and other.name not in SIDES):
        for layer, name, _ in other.tables():
            if layer in READABLE:
                found[f"{other.name}.{layer}.{name}"] = _columns(other, layer, name)
    return found


def is_unloaded(table: str, pipeline: Pipeline, conf: Path) -> bool:
    """Whether a table belongs to another pipeline whose file has problems of its own: nothing can be told of
    it.
    """
    other = other_pipeline(table)
    return (
        other is not None
        and other != pipeline.name
        and other not in pipeline.upstream
        and other in pipeline_names(conf)
    )


def check_between(pipelines: Mapping[str, Pipeline], conf: Path) -> list[Report]:
    """Schedules on tables that are not there, and pipelines that read one another in a ring."""
    reports = {name: Report(pipeline_file(conf.parent, name), conf.parent) for name in pipelines}
    for name, pipeline in pipelines.items():
        _check_schedule(pipeline, pipelines, conf, reports[name])
    graph = {name: _waits_for(pipeline, conf) & pipelines.keys() for name, pipeline in pipelines.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        first, ring = error.args[1][1], " -> ".join(error.args[1])
        message = f"the pipelines form a ring, each reading or started by the one before: {ring}"
        reports[first].add(
            ("pipeline",),
            ring,
            message,
            "let one of them read another table, or put the tables into one pipeline",
        )
    return list(reports.values())


def _check_schedule(
    pipeline: Pipeline, pipelines: Mapping[str, Pipeline], conf: Path, report: Report
) -> None:
    if not isinstance(pipeline.schedule, TableSchedule):
        return
    there = list(tables_of_others(pipeline, pipelines.values()))
    broken = set(pipeline_names(conf)) - pipelines.keys()
    for index, table in enumerate(pipeline.schedule.on):
        place = ("schedule", "on", index)
        if other_pipeline(table) == pipeline.name:
            report.add(
                place,
                table,
                "a pipeline cannot be started by a table of its own",
                "name a table of another pipeline, or a cron time",
            )
        elif other_pipeline(table) not in broken:
            report.require(place, table, there, "table of another pipeline called")


def _waits_for(pipeline: Pipeline, conf: Path) -> set[str]:
    """The pipelines that it reads, and those that start it."""
    on = pipeline.schedule.on if isinstance(pipeline.schedule, TableSchedule) else []
    return {*pipelines_read(pipeline, conf), *(other for table in on if (other := other_pipeline(table)))} - {
        pipeline.name
    }


def _columns(pipeline: Pipeline, layer: str, name: str) -> Columns | None:
    if layer == "dimension":
        return dimension_columns(pipeline, name)
    if layer == "silver":
        return silver_columns(pipeline, name)
    gold = pipeline.gold[name]
    return aggregate_columns(pipeline, gold) if gold.from_ or gold.join else None
