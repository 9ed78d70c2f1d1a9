"""What a batch needs to know of its table, from the pipeline file."""

from dataclasses import dataclass

from spark_jobs.config.pipeline import Dimension, Lookup, Pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.silver.decoding import Decoding
from spark_jobs.silver.versions import ARRIVAL, CHANGE


@dataclass(frozen=True)
class FactTable:
    """A silver table, or a dimension without lookups; `is_history`: one that keeps every version."""

    name: str
    decoding: Decoding
    key: tuple[str, ...]
    sequence: str | None
    lookups: tuple[tuple[str, Lookup, Dimension], ...] = ()
    is_watermarked: bool = False
    is_history: bool = False
    is_change_feed: bool = False
    is_stream: bool = False
    ties: tuple[str, ...] = ()
    """The columns that decide between versions of one sequence; none: their content does."""
    hidden: frozenset[str] = frozenset()
    """Asked with `in`: the columns that are sensitive, or tell of one that is."""

    @property
    def sequences(self) -> list[str]:
        """The columns that order the versions of a key. Changes of a table also have the order of its
        commits.
        """
        return [str(self.sequence), *([CHANGE] if self.is_change_feed else [])]

    @property
    def declared(self) -> list[str]:
        return list(self.decoding.columns)

    @property
    def taken(self) -> list[str]:
        return [column for _, lookup, _ in self.lookups for column in lookup.take]

    @property
    def quarantine(self) -> str:
        return f"quarantine.{self.name}"

    @property
    def parked(self) -> str:
        return f"parked.{self.name}"

    @property
    def deleted(self) -> str:
        return f"deleted.{self.name}"

    @property
    def may_wait(self) -> bool:
        """Whether a row may be set aside for want of a member."""
        return any(lookup.if_missing != "unknown" for _, lookup, _ in self.lookups)

    @property
    def reads(self) -> list[str]:
        """The tables whose versions a batch of this table depends on, beside the records that come."""
        sides = [
            *([self.quarantine, self.parked] if self.may_wait else []),
            *([self.deleted] if self.decoding.delete_when else []),
        ]
        return [self.name, *(f"dimension.{name}" for name, _, _ in self.lookups), *sides]


def silver_table(pipeline: Pipeline, name: str) -> FactTable:
    table = pipeline.silver[name]
    key, event = tuple(table.key or ()), table.event_time
    ordered = [table.sequence_column] if key and table.sequence_column else []
    decoding = Decoding(
        source_format=pipeline.sources[table.from_].record_format,
        fields=pipeline.sources[table.from_].fields,
        own_fields=pipeline.sources[table.from_].own_fields,
        columns=table.columns,
        explode=table.explode,
        where=table.where,
        required=(*key, *ordered, *([event.column] if event else [])),
        event_time=event.column if event else None,
        future=event.future if event else None,
        past=event.past if event else None,
        delete_when=table.delete_when,
        identity=(*key, *ordered),
    )
    source = pipeline.sources[table.from_]
    return FactTable(
        f"silver.{name}",
        decoding,
        key,
        sequence=table.sequence_column if key else None,
        lookups=tuple(
            (dimension, lookup, pipeline.dimensions[dimension]) for dimension, lookup in table.lookup.items()
        ),
        is_watermarked=pipeline.is_watermarked(name),
        is_change_feed=source.is_change_feed,
        is_stream=source.is_stream,
        ties=ARRIVAL if table.ties == "newest_arrival" else (),
        hidden=sensitive_columns(pipeline, f"silver.{name}"),
    )


def dimension_table(pipeline: Pipeline, name: str) -> FactTable:
    dimension = pipeline.dimensions[name]
    decoding = Decoding(
        source_format=pipeline.sources[dimension.from_].record_format,
        fields=pipeline.sources[dimension.from_].fields,
        own_fields=pipeline.sources[dimension.from_].own_fields,
        columns=dimension.columns,
        where=dimension.where,
        required=(*dimension.key, dimension.sequence_by),
    )
    return FactTable(
        f"dimension.{name}",
        decoding,
        tuple(dimension.key),
        dimension.sequence_by,
        is_history=dimension.history == "scd2",
        is_change_feed=pipeline.sources[dimension.from_].is_change_feed,
        ties=ARRIVAL if dimension.ties == "newest_arrival" else (),
        hidden=sensitive_columns(pipeline, f"dimension.{name}"),
    )
