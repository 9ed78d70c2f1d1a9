"""The tables of all pipelines by name: retail.silver.orders, those beside it as
retail.quarantine.silver.orders, the ledger as retail.ledger.runs, arrivals as retail.arrivals.orders. Where
only one pipeline has such a table its own name is enough.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.graph import table_names
from spark_jobs.config.loading import NO_PIPELINE, Project
from spark_jobs.config.names import SIDES
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.snapshot import NoSuchVersion, Snapshot, Version, open_snapshot, parse_version

LEDGER, ARRIVALS = "ledger", "arrivals"
LEDGER_TABLES = (
    "runs", "states", "tables", "intents", "batches", "progress", "definitions", "evidence", "drift", "rules",
    "expectations", "gates", "decisions",
)  # fmt: skip
"""As in lake/ledger_schemas.py, which needs Arrow."""


class NotThere(Exception):
    """A table that its pipeline declares, and no run has made yet."""

    def __init__(self, ref: "TableRef") -> None:
        self.table, self.pipeline = ref.full_name, ref.pipeline.name
        if ref.layer in SIDES:
            why = "nothing was set aside there yet"
        elif ref.layer == LEDGER:
            why = "the ledger has nothing to say there yet"
        else:
            why = f"no run has made it yet: `weir run {self.pipeline}`"
        super().__init__(f"{self.table} is not there: {why}")


@dataclass(frozen=True)
class TableRef:
    """A table of a pipeline by its name there, as in silver.orders or ledger.runs."""

    project: Project
    pipeline: Pipeline
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.pipeline.name}.{self.name}"

    @property
    def layer(self) -> str:
        return TableName(self.name).layer

    @property
    def path(self) -> str:
        lake, name = Lake(self.project.lake, self.pipeline.name), TableName(self.name).name
        if self.layer == LEDGER:
            return lake.ledger(name)
        return lake.arrivals(name) if self.layer == ARRIVALS else lake.table(self.name)

    def open(self, at: Version | None = None) -> Snapshot:
        """NotThere, or UsageError where there is no such version."""
        try:
            found = open_snapshot(self.path, at)
        except NoSuchVersion as wrong:
            hint = f"`weir show {self.full_name}` lists its versions"
            raise UsageError("TABLE", f"{self.full_name}@{at}", f"{self.full_name}: {wrong}", hint) from wrong
        if found is None:
            raise NotThere(self)
        return found


def known_tables(project: Project) -> dict[str, TableRef]:
    """Every table by its full name, in the order of the data."""
    return {
        ref.full_name: ref
        for pipeline in project.pipelines.values()
        for ref in (TableRef(project, pipeline, name) for name in _names(pipeline))
    }


def with_short_names(known: dict[str, TableRef]) -> dict[str, TableRef]:
    """The same, and those that only one pipeline has by their own name as well."""
    short: dict[str, list[TableRef]] = {}
    for ref in known.values():
        short.setdefault(ref.name, []).append(ref)
    return {name: refs[0] for name, refs in short.items() if len(refs) == 1} | known


def find_table(project: Project, text: str, where: str = "TABLE") -> tuple[TableRef, Version | None]:
    """From `retail.silver.orders` or `silver.orders@v3` to the table and its version; UsageError."""
    name, sign, at = text.partition("@")
    known = known_tables(project)
    found = with_short_names(known).get(name.lower())
    if found is None:
        raise unknown_table(known, name, where)
    return found, known_version(at, f"{where} {text!r}") if sign else None


def known_version(text: str, where: str) -> Version:
    version = parse_version(text)
    if version is None:
        hint = "write a number as in v3, or a time as in 2026-03-31T12:00:00Z"
        raise UsageError(where, text, f"{text!r} is not a version", hint)
    return version


def unknown_table(known: dict[str, TableRef], name: str, where: str) -> UsageError:
    same = [full for full, ref in known.items() if ref.name == name]
    if len(same) > 1:
        message = f"several pipelines have a table {name!r}"
        return UsageError(where, name, message, f"write one of: {', '.join(same)}")
    hint = did_you_mean(name, _nearest_first(known, name)) if known else NO_PIPELINE
    return UsageError(where, name, f"there is no table {name!r}", hint)


def _nearest_first(known: dict[str, TableRef], name: str) -> list[str]:
    """Data before what tells of runs, unless that was meant: the list of a hint is cut."""
    wanted = re.split(r"\W+", name.lower())
    aside = [full for full, ref in known.items() if ref.layer in (LEDGER, ARRIVALS, *SIDES)]
    meant = [full for full in aside if known[full].layer in wanted]
    return list(dict.fromkeys([*meant, *(full for full in known if full not in aside), *aside]))


def _names(pipeline: Pipeline) -> Iterator[str]:
    tables = [TableName(name) for name in table_names(pipeline)]
    yield from tables
    for side in ("quarantine", "parked", "deleted"):
        yield from (f"{side}.{name}" for name in tables if name.has_keys)
    yield from (f"late.{name}" for name in tables if name.is_gold)
    yield from (f"{ARRIVALS}.{source}" for source in pipeline.sources)
    yield from (f"{LEDGER}.{name}" for name in LEDGER_TABLES)
