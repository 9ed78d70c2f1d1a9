"""Tables as Airflow assets. `retail.silver.orders` has an event whenever a new version of it was published, and never otherwise."""

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import Asset, AssetAlias, Context

PUBLISHED = ("done", "up_to_date")
SINK = "sink."
"""What a sink delivers lies outside: it is no table, and has no asset."""
COUNTS = ("rows_in", "inserted", "updated", "deleted", "quarantined", "parked", "late")


def table_asset(name: str) -> Asset:
    """The asset of a table by its full name, as in retail.silver.orders."""
    return Asset(name=name, uri=f"weir://{name.replace('.', '/', 2)}", group="weir")


def table_assets(pipeline: str, tables: Iterable[str]) -> list[Asset]:
    return [table_asset(f"{pipeline}.{table}") for table in tables if not table.startswith(SINK)]


def updates(pipeline: str) -> AssetAlias:
    """What tasks announce through: a task that names assets as its outlets would announce all of them whenever it succeeds."""
    return AssetAlias(f"weir.{pipeline}")


def announce(context: Context, pipeline: str, result: Mapping[str, Any]) -> list[str]:
    """An event for every table with a version that no event has told of, and which these are.

    A table that was published by a try that failed later is up to date in the next one: going by versions, its event comes then.
    """
    announced = []
    for table in (table for table in result.get("tables", []) if not table["table"].startswith(SINK)):
        asset = table_asset(f"{pipeline}.{table['table']}")
        if table["state"] in PUBLISHED and table.get("version") is not None and table["version"] != _last_told(context, asset):
            extra = {name: table.get(name, 0) for name in COUNTS}
            told = {"verdict": table.get("verdict"), **{name: result.get(name) for name in ("run_id", "report")}}
            context["outlet_events"][updates(pipeline)].add(asset, extra={**extra, "version": table["version"], **told})
            announced.append(asset.name)
    return announced


def _last_told(context: Context, asset: Asset) -> Any:
    newest = list(context["inlet_events"][asset].ascending(False).limit(1))
    return (newest[0].extra or {}).get("version") if newest else None
