"""What a run has to do, found without a JVM: a table is due when an input has a version that it has not consumed."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.config.errors import ConfigError, Problem, did_you_mean
from spark_jobs.config.graph import order_tables
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.delta_log import table_bytes, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.registrar import bytes_after, last_taken_chunk

DEFINITION = "definition"
LAYERS = {"bronze": ("bronze",), "silver": ("dimension", "silver"), "gold": ("gold",)}
"""What the layers of the command line and the DAGs stand for."""


@dataclass(frozen=True)
class Plan:
    """The tables of a run, each with its inputs, in an order in which every table stands after its inputs."""

    pipeline: Pipeline
    conf: Path
    lake: Lake
    tables: dict[str, tuple[str, ...]]

    def current_inputs(self, table: str) -> dict[str, Any]:
        """The versions that the table's inputs have now, and its definition, which it depends on as much."""
        layer, _, name = table.partition(".")
        if layer == "bronze":
            return {"arrivals": last_taken_chunk(self.lake.arrivals(name))}
        versions: dict[str, Any] = {source: table_version(self.lake.table(source)) for source in self.tables[table]}
        return versions | {DEFINITION: _fingerprint(self.pipeline, table, self.conf)}

    def is_due(self, table: str, consumed: dict[str, Any] | None) -> bool:
        """Something new to read, and every input there to be read; facts do not wait for their dimensions."""
        current = self.current_inputs(table)
        waits_for = [name for name in current if not (table.startswith("silver.") and name.startswith("dimension."))]
        return current != consumed and all(current[name] is not None for name in waits_for)

    def due_bytes(self, consumed: dict[str, dict[str, Any]]) -> int:
        """About how many bytes this run has to read."""
        total = 0
        for table, inputs in self.tables.items():
            layer, _, name = table.partition(".")
            if layer == "bronze":
                total += bytes_after(self.lake.arrivals(name), consumed.get(table, {}).get("arrivals") or 0)
            elif table not in consumed:
                total += sum(table_bytes(self.lake.table(source)) for source in inputs)
        return total


def make_plan(pipeline: Pipeline, conf: Path, lake: Lake, select: Collection[str], layer: str | None) -> Plan:
    """All tables, or those of a layer, or those selected by their full names."""
    tables = order_tables(pipeline, conf)
    for name in select:
        if name not in tables:
            where = f"conf/pipelines/{pipeline.name}.yml"
            raise ConfigError([Problem(where, 1, "--select", name, f"there is no table {name!r}", did_you_mean(name, tables))])
    layers = LAYERS[layer] if layer else None
    chosen = {t: i for t, i in tables.items() if (not select or t in select) and (layers is None or t.partition(".")[0] in layers)}
    return Plan(pipeline, conf, lake, chosen)


def due_tables(plan: Plan, ledger: Ledger) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The tables that are due now, and what every table has consumed. Tables below a due one may become due in the run."""
    consumed = ledger.consumed_inputs()
    for table in plan.tables:
        _check_definition(plan, table, consumed.get(table, {}))
    return [table for table in plan.tables if plan.is_due(table, consumed.get(table))], consumed


def _check_definition(plan: Plan, table: str, consumed: dict[str, Any]) -> None:
    """Rows that are published follow the definition of their time: a changed one would give a table that is a function of nothing.

    Gold tables are made from other tables, so they are simply made anew.
    """
    layer, _, name = table.partition(".")
    if layer not in ("dimension", "silver") or DEFINITION not in consumed:
        return
    if consumed[DEFINITION] != _fingerprint(plan.pipeline, table, plan.conf):
        message = f"the definition of {table} has changed since its rows were made, and they would not follow"
        hint = "take the change back, or give the table a new name: it is then built from all of bronze"
        raise ConfigError([Problem(f"conf/pipelines/{plan.pipeline.name}.yml", 1, table, name, message, hint)])


def _fingerprint(pipeline: Pipeline, table: str, conf: Path) -> str:
    """A hash of all that the file says of the table, of the dimensions it looks up, and of the SQL or Python file it names."""
    layer, _, name = table.partition(".")
    definition: Any = next(found for kind, known_as, found in pipeline.tables() if (kind, known_as) == (layer, name))
    text = ""
    if layer == "silver":
        text = "".join(pipeline.dimensions[dimension].history for dimension in definition.lookup)
    elif layer == "gold" and (file := definition.sql or (definition.python or "").partition(":")[0]):
        text = (conf / file).read_text(encoding="utf-8")
    return hashlib.sha256(f"{definition.model_dump_json()}\n{text}".encode()).hexdigest()[:16]
