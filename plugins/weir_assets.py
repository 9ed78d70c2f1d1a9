"""Tables as Airflow assets. `retail.silver.orders` has an event whenever a new version of it was published,
and never otherwise.

Its producers are the tasks that may publish it, its consumers those that read it and do not make it.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, Context
from airflow.sdk.execution_time.context import InletEventsAccessors

from spark_jobs.config.graph import inputs_of
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.pipeline import Pipeline

PUBLISHED = ("done", "up_to_date")
SINK = "sink."
"""What a sink delivers lies outside: it is no table, and has no asset."""
COUNTS = ("rows_in", "inserted", "updated", "deleted", "quarantined", "parked", "late")


def table_asset(name: str) -> Asset:
    """The asset of a table by its full name, as in retail.silver.orders."""
    return Asset(name=name, uri=f"weir://{name.replace('.', '/', 2)}", group="weir")


def table_assets(pipeline: str, tables: Iterable[str]) -> list[Asset]:
    return [table_asset(f"{pipeline}.{table}") for table in tables if not table.startswith(SINK)]


def read_assets(pipeline: Pipeline, covered: Collection[str], conf: Path) -> list[Asset]:
    """The tables that a task reads and does not make itself: those of tasks before it, and of other
    pipelines. A SQL file that cannot be read is a problem of its own.
    """
    found: list[str] = []
    for table in covered:
        try:
            found += [name for name in inputs_of(pipeline, table, conf) if name not in covered]
        except (OSError, UnicodeDecodeError):
            continue
    return [
        table_asset(name if other_pipeline(name) else f"{pipeline.name}.{name}")
        for name in dict.fromkeys(found)
    ]


def announce_nothing(context: Context) -> None:
    """Before a task begins: as it is, one that succeeds announces every table that it may publish."""
    task: Any = context["ti"].task
    task.outlets = []


def announce(context: Context, pipeline: str, result: Mapping[str, Any]) -> list[str]:
    """An event for every table with a version that no event has told of, and which these are.

    A table that was published by a try that failed later is up to date in the next one: going by versions,
    its event comes then.
    """
    announced = []
    for table in (table for table in result.get("tables", []) if not table["table"].startswith(SINK)):
        asset = table_asset(f"{pipeline}.{table['table']}")
        if (
            table.get("state") in PUBLISHED
            and table.get("version") is not None
            and not is_told(table, _last_told(context, asset))
        ):
            # by whom it was published, where this run did not
            last = table.get("last") if table["state"] == "up_to_date" else None
            extra = {name: (last or table).get(name, 0) for name in COUNTS}
            told = {
                "verdict": table.get("verdict"),
                **{name: (last or result).get(name) for name in ("run_id", "report")},
            }
            _add(context, asset, {**extra, "version": table["version"], **told})
            announced.append(asset.name)
    return announced


def is_told(table: Mapping[str, Any], version: Any) -> bool:
    """Whether an event of this version tells of the rows that are there: upkeep gives a table new versions
    with the same rows.
    """
    since = table.get("published_version", table["version"])
    return isinstance(version, int) and since <= version <= table["version"]


def _add(context: Context, asset: Asset, extra: dict[str, Any]) -> None:
    task: Any = context["ti"].task
    if asset not in task.outlets:
        task.outlets = [*task.outlets, asset]
    context["outlet_events"][asset].extra = extra


def _last_told(context: Context, asset: Asset) -> Any:
    """The version of the newest event, those of this task among them."""
    if extra := context["outlet_events"][asset].extra:
        return extra.get("version")
    newest = list(InletEventsAccessors([asset])[asset].ascending(False).limit(1))
    return (newest[0].extra or {}).get("version") if newest else None
