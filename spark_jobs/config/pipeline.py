"""What a pipeline is: the strict model of conf/pipelines/*.yml. Read by the engine, the DAGs and the reports;
imports no pyspark.

The models hold what one file can say about itself. What needs several keys, SQL or other files is in
checks/.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, model_validator

from spark_jobs.config.errors import Hinted
from spark_jobs.config.expectations import Rule, tagging
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import (
    Cron,
    Duration,
    Model,
    Name,
    OtherTable,
    PipelineName,
    as_list,
    name_at_home,
    other_pipeline,
)
from spark_jobs.config.relays import Relay
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.sinks import COMPONENTS, Sink
from spark_jobs.config.sources import Source, StreamSource

Layer = Literal["bronze", "dimension", "silver", "gold"]
SINK = "sink"
OtherTables = Annotated[
    list[OtherTable], BeforeValidator(as_list, json_schema_input_type=OtherTable | list[OtherTable])
]
Word = Annotated[str, Field(min_length=1, max_length=100)]
Tags = Annotated[list[Word], BeforeValidator(as_list, json_schema_input_type=Word | list[Word])]
Address = Annotated[str, Field(pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$", max_length=254)]
Addresses = Annotated[list[Address], BeforeValidator(as_list, json_schema_input_type=Address | list[Address])]


class TableSchedule(Model):
    """Start when another pipeline has published a new version of one of these tables,
    whichever comes first.
    """

    on: OtherTables = Field(
        min_length=1,
        description="tables of other pipelines, as in retail.silver.orders; any of them starts a run",
    )


class Notify(Model):
    """Who hears of a run that failed, was blocked or is not done in time."""

    log: bool = Field(True, description="a line in the log of the task")
    webhook: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.:/-]{1,200}$",
        description="id of an Airflow connection: its address gets a JSON message",
    )
    email: Addresses = Field(
        default_factory=list, description="addresses that get a mail, by Airflow's own mail settings"
    )


def _kind_of_schedule(value: object) -> str:
    return BY_TABLES if isinstance(value, dict | TableSchedule) else BY_TIME


BY_TIME, BY_TABLES = "(cron)", "(tables)"
Schedule = Annotated[
    Annotated[Cron, Tag(BY_TIME)] | Annotated[TableSchedule, Tag(BY_TABLES)], Discriminator(_kind_of_schedule)
]


class Pipeline(Model):
    """One pipeline file."""

    pipeline: PipelineName = Field(description="its name; the file is called <name>.yml")
    description: str = ""
    owner: str = "weir"
    doc: str | None = Field(None, max_length=20_000, description="markdown that Airflow shows with the DAG")
    tags: Tags = Field(default_factory=list, description="words by which the DAG is found in Airflow")
    schedule: Schedule | None = Field(
        None,
        description=(
            "cron expression, or {on: tables of other pipelines}; without it the pipeline is started by hand"
        ),
    )
    tasks: Literal["pipeline", "layer", "table"] = Field("layer", description="what one Airflow task runs")
    timeout: Duration = Field("6 hours", description="a task that takes longer is stopped, and fails")
    deadline: Duration | None = Field(
        None, description="a DAG run that is not done by then raises an alert, and goes on"
    )
    retries: int = Field(
        2,
        ge=0,
        le=10,
        description="how often a task is tried again after a failure that a retry may fix",
    )
    when_blocked: Literal["ask", "fail"] = Field(
        "ask",
        description="a batch that its rules block: ask a person in Airflow's UI, or let the run fail",
    )
    decide_within: Duration = Field(
        "1 day", description="ask: how long the question waits for an answer; then the run fails"
    )
    notify: Notify = Field(default_factory=lambda: Notify.model_validate({}))
    sources: dict[Name, Source] = Field(default_factory=dict)
    dimensions: dict[Name, Dimension] = Field(default_factory=dict)
    silver: dict[Name, Silver] = Field(default_factory=dict)
    gold: dict[Name, Gold] = Field(default_factory=dict)
    sinks: dict[Name, Sink] = Field(default_factory=dict)
    relays: dict[Name, Relay] = Field(
        default_factory=dict, description="in a file of their own: topics to topics, outside the tables"
    )
    _upstream: dict[str, "Pipeline"] = PrivateAttr(default_factory=dict)
    _tagging: dict[str, tuple[Rule, ...]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _has_a_table(self) -> "Pipeline":
        if not self.sources and not self.gold and not self.relays:
            raise Hinted(
                "the pipeline has no table", "add sources, or gold tables that read those of other pipelines"
            )
        return self

    @property
    def name(self) -> str:
        return self.pipeline

    @property
    def components(self) -> set[str]:
        """What it needs beside Delta, as `weir setup --with` calls it."""
        of_sinks = {COMPONENTS[sink.to] for sink in self.sinks.values() if sink.to in COMPONENTS}
        of_relays = {"kafka"} if self.relays else set()
        return (
            of_sinks
            | of_relays
            | {source.format for source in self.sources.values() if source.format == "kafka"}
        )

    @property
    def live_sources(self) -> list[str]:
        """The sources that keep nothing: only a query that never ends can read them."""
        return [
            name
            for name, source in self.sources.items()
            if isinstance(source, StreamSource) and source.is_live
        ]

    @property
    def upstream(self) -> dict[str, "Pipeline"]:
        """The other pipelines whose tables this one reads, where the project was loaded with them."""
        return self._upstream

    def link(self, upstream: dict[str, "Pipeline"]) -> None:
        self._upstream.update(upstream)

    def tag_by(self, rules: Mapping[str, Iterable[Rule]]) -> None:
        """Know the rules of its tables that tag rows: they give a table a column."""
        self._tagging = {table: found for table, known in rules.items() if (found := tagging(known))}

    def tagging(self, table: str) -> tuple[Rule, ...]:
        """The rules of a table whose names stand in the rows that do not meet them."""
        return self._tagging.get(table, ())

    def home_of(self, table: str) -> "Pipeline | None":
        """The pipeline that a table belongs to, this one or another; None where that one is not loaded."""
        other = other_pipeline(table)
        return self if other is None else self._upstream.get(other)

    def silver_named(self, table: str | None) -> Silver | None:
        """The silver table of this name, as in silver.orders or retail.silver.orders."""
        home, (layer, _, name) = self.home_of(table or ""), name_at_home(table or "").partition(".")
        return home.silver.get(name) if home and layer == "silver" else None

    def is_watermarked(self, silver: str) -> bool:
        """Whether a gold table closes windows over this silver table, whose rows then say what had been seen
        when they came.
        """
        return any(
            delay and table == f"silver.{silver}"
            for gold in self.gold.values()
            for table, delay in gold.delays
        )

    def tables(self) -> Iterator[tuple[Layer, str, Any]]:
        """Every table in the order of the data: (layer, name, definition)."""
        for layer, group in (
            ("bronze", self.sources),
            ("dimension", self.dimensions),
            ("silver", self.silver),
            ("gold", self.gold),
        ):
            for name, definition in group.items():
                yield layer, name, definition  # type: ignore[misc]

    def nodes(self) -> Iterator[tuple[str, str, Any]]:
        """Every table, and behind them the sinks, which are no tables but run as their nodes do."""
        yield from self.tables()
        for name, sink in self.sinks.items():
            yield SINK, name, sink
