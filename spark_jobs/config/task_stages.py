"""The Airflow tasks of a pipeline's tables in the order of the data, as `tasks` says. A table comes before
those whose rules read it.
"""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName

Stage = dict[str, list[str]]
"""Tasks that may run once all tasks of the stage before are done. A task: its id and the tables it covers."""
LAYERS = {"bronze": ("bronze",), "silver": ("dimension", "silver"), "gold": ("gold",), "sink": ("sink",)}
"""What the layers of the command line and the DAGs mean."""
Edges = Mapping[str, tuple[str, ...]]
"""Per table the tables that its rules read."""


def stages(pipeline: Pipeline, edges: Edges) -> list[Stage]:
    """The tasks in the order of the data."""
    tables = [f"{layer}.{name}" for layer, name, _ in pipeline.nodes()]
    if pipeline.tasks == "pipeline":
        return [{"run": tables}]
    if pipeline.tasks == "layer":
        layers = {
            layer: [table for table in tables if TableName(table).layer in parts]
            for layer, parts in LAYERS.items()
        }
        return [{layer: covered} for layer, covered in layers.items() if covered]
    wanted = _with_dimensions(pipeline, edges)
    return [part for stage in _table_stages(pipeline) if stage for part in _split(stage, wanted)]


def _with_dimensions(pipeline: Pipeline, edges: Edges) -> Edges:
    """A dimension comes after those that it looks up."""
    looked_up = {
        f"dimension.{name}": tuple(f"dimension.{other}" for other in dimension.lookup)
        for name, dimension in pipeline.dimensions.items()
    }
    return {name: (*edges.get(name, ()), *looked_up.get(name, ())) for name in {**edges, **looked_up}}


def made_too_late(pipeline: Pipeline, edges: Edges) -> list[tuple[str, str]]:
    """A table and another that its rules read and that a later task makes: the engine orders tables within
    one task only.
    """
    place = {
        table: number
        for number, stage in enumerate(stages(pipeline, edges))
        for covered in stage.values()
        for table in covered
    }
    return [
        (table, other)
        for table, others in edges.items()
        for other in others
        if place.get(other, -1) > place.get(table, -1)
    ]


def _table_stages(pipeline: Pipeline) -> list[Stage]:
    """One task per table. Gold tables by SQL or Python, or made from gold tables, may read one another, and
    only the engine knows their order: one task for all.
    """
    windows = [name for name, table in pipeline.gold.items() if table.from_ and not table.reads_gold]
    derived = [f"gold.{name}" for name in pipeline.gold if name not in windows]
    return [
        _one_each("bronze", pipeline.sources),
        _one_each("dimension", pipeline.dimensions),
        _one_each("silver", pipeline.silver),
        _one_each("gold", windows),
        {"gold": derived} if derived else {},
        _one_each("sink", pipeline.sinks),
    ]


def _one_each(layer: str, names: Iterable[str]) -> Stage:
    return {f"{layer}.{name}": [f"{layer}.{name}"] for name in names}


def _split(stage: Stage, edges: Edges) -> list[Stage]:
    """The tasks of a stage in several, where rules of one read the table of another; a ring is the check's to
    refuse.
    """
    sorter = TopologicalSorter(
        {task: [other for other in edges.get(task, ()) if other in stage] for task in stage}
    )
    try:
        sorter.prepare()
    except CycleError:
        return [stage]
    parts: list[Stage] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        parts.append({task: stage[task] for task in stage if task in ready})
        sorter.done(*ready)
    return parts
