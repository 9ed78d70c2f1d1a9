"""What a batch needs to know of its table, from the pipeline file, and the columns of silver, dimension and
side tables as Spark DDL.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.config.columns import own_columns, taken_columns
from spark_jobs.config.expectations import FAILED_RULES
from spark_jobs.config.graph import ended_tables
from spark_jobs.config.lookups import Lookup, in_order, lookups_used
from spark_jobs.config.names import NEWEST_ARRIVAL
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.silver.decoding import Decoding, of_records
from spark_jobs.silver.reasons import REASON
from spark_jobs.silver.versions import ARRIVAL, CHANGE


@dataclass(frozen=True)
class FactTable:
    """A silver table, or a dimension; `is_history`: one that keeps every version."""

    name: str
    decoding: Decoding
    key: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    """The columns that order the versions of a key, the first before the second."""
    lookups: tuple[tuple[str, Lookup, Dimension], ...] = ()
    is_watermarked: bool = False
    is_history: bool = False
    snapshot: tuple[str, ...] = ()
    """Of a dimension that is fed by snapshots: the columns that tell them apart, in their order."""
    is_change_feed: bool = False
    is_stream: bool = False
    ended: tuple[str, ...] = ()
    """The tables that know the ended members of dimensions for whose members a row may wait."""
    ties: tuple[str, ...] = ()
    """The columns that decide between versions of one sequence, or of all where there is none; without them
    the content does.
    """
    is_tagged: bool = False
    """Whether its rows name the rules that they do not meet."""
    hidden: frozenset[str] = frozenset()
    """Asked with `in`: the columns that are sensitive, or tell of one that is."""

    @property
    def sequences(self) -> list[str]:
        """The columns that order the versions of a key. Changes of a table also have the order of its
        commits.
        """
        return [*self.sequence, *([CHANGE] if self.is_change_feed else [])]

    @property
    def has_versions(self) -> bool:
        """Whether the rows of a key are versions of one, of which the newest counts."""
        return bool(self.key) and bool(self.sequence or self.ties)

    @property
    def is_rebuilt(self) -> bool:
        """Whether its rows are made from all versions of a key, and not from the newest alone."""
        return self.is_history or bool(self.snapshot)

    @property
    def is_current(self) -> bool:
        """Whether it has the members of the newest snapshot, and those alone."""
        return bool(self.snapshot) and not self.is_history

    @property
    def place(self) -> tuple[str, ...]:
        """What tells its rows apart."""
        return (*self.key, "_valid_from") if self.is_history else self.key

    @property
    def declared(self) -> list[str]:
        return list(self.decoding.columns)

    @property
    def taken(self) -> list[str]:
        return [column for _, lookup, _ in self.lookups for column in lookup.taken]

    def following(self, name: str) -> list[str]:
        """The lookup of this dimension, and those that use what it takes, directly or through others."""
        lookups = {known: lookup for known, lookup, _ in self.lookups}
        used, found = lookups_used(lookups, self.declared), [name]
        for known in lookups:
            if known not in found and set(used[known]) & set(found):
                found.append(known)
        return found

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
        """Whether a row may be set aside because a member is missing."""
        return any(lookup.if_missing != "unknown" for _, lookup, _ in self.lookups)

    @property
    def reads(self) -> list[str]:
        """The tables whose versions a batch of this table depends on, beside the records that come."""
        sides = [
            *([self.quarantine, self.parked] if self.may_wait else []),
            *([self.deleted] if self.decoding.delete_when or self.snapshot else []),
            *self.ended,
        ]
        return [self.name, *(f"dimension.{name}" for name, _, _ in self.lookups), *sides]


def silver_table(pipeline: Pipeline, name: str) -> FactTable:
    table = pipeline.silver[name]
    key, event = tuple(table.key or ()), table.event_time
    ordered = table.sequence if key else []
    decoding = Decoding(
        **of_records(pipeline.sources[table.from_]),
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
        sequence=tuple(ordered),
        lookups=_lookups(pipeline, table),
        is_watermarked=pipeline.is_watermarked(name),
        is_change_feed=source.is_change_feed,
        is_stream=source.is_stream,
        ended=tuple(ended_tables(pipeline, name)),
        ties=ARRIVAL if key and table.keeps_arrival else (),
        is_tagged=bool(pipeline.tagging(f"silver.{name}")),
        hidden=sensitive_columns(pipeline, f"silver.{name}"),
    )


def dimension_table(pipeline: Pipeline, name: str) -> FactTable:
    dimension = pipeline.dimensions[name]
    decoding = Decoding(
        **of_records(pipeline.sources[dimension.from_]),
        columns=dimension.columns,
        where=dimension.where,
        required=(*dimension.key, *dimension.sequence),
        delete_when=dimension.delete_when,
        identity=(*dimension.key, *dimension.sequence),
    )
    return FactTable(
        f"dimension.{name}",
        decoding,
        tuple(dimension.key),
        tuple(dimension.sequence),
        lookups=_lookups(pipeline, dimension),
        is_history=dimension.history == "scd2",
        snapshot=_snapshot_columns(dimension),
        is_change_feed=pipeline.sources[dimension.from_].is_change_feed,
        ties=ARRIVAL if dimension.keeps_arrival else (),
        hidden=sensitive_columns(pipeline, f"dimension.{name}"),
    )


def _lookups(pipeline: Pipeline, table: Silver | Dimension) -> tuple[tuple[str, Lookup, Dimension], ...]:
    names = in_order(table.lookup, table.columns)
    return tuple((name, table.lookup[name], pipeline.dimensions[name]) for name in names)


def _snapshot_columns(dimension: Dimension) -> tuple[str, ...]:
    """A snapshot has a time, or is a file that arrived."""
    if not dimension.snapshot:
        return ()
    return tuple(dimension.sequence) + (ARRIVAL[:2] if dimension.sequence_by == [NEWEST_ARRIVAL] else ())


# The columns of silver, dimension and side tables, as Spark DDL, from their definitions.


ORIGIN_DDL = (
    "_arrived_at timestamp, _processed_at timestamp, _file string, _file_id string, _line bigint, _content"
    " bigint"
)
ARRIVAL_DDL = "_chunk bigint, _element int"
"""Where the arrival decides between versions: what the origin lacks of a row's place among the arrivals."""
TAGS_DDL = f"{FAILED_RULES} array<string>"
SEEN_DDL = "_seen_until timestamp, _closed_until timestamp"
SET_ASIDE_DDL = (
    f"record string, reasons array<{REASON}>, file string, file_id string, line bigint, element int,"
    " arrived_at timestamp, chunk bigint, seen_until timestamp, closed_until timestamp, set_aside_at"
    " timestamp, run_id string, batch bigint, rules string, first_seen_at timestamp, attempts int, state"
    " string, file_modified_at timestamp"
)
"""Quarantine and parked tables: a row that is set aside can be read again from its record."""


def dimension_ddl(pipeline: Pipeline, name: str) -> str:
    dimension = pipeline.dimensions[name]
    columns = _declared([*own_columns(dimension).items(), *taken_columns(pipeline, dimension).items()])
    origin = _origin(dimension)
    if dimension.history == "scd1":
        return f"{columns}, {origin}"
    declared = [name for name in dimension.sequence if name in dimension.columns]
    kind = dimension.columns[declared[0]].type if declared else "timestamp"
    place = "_arrived_at:timestamp,_file:string,_file_id:string,_line:bigint"
    place += ",_chunk:bigint,_element:int" if dimension.keeps_arrival else ""
    order = "".join(f"`{name}`:{dimension.columns[name].type}," for name in declared)
    confirmation = f"struct<{order}{place}>"
    return f"{columns}, _valid_from {kind}, _valid_to {kind}, _confirmed_by array<{confirmation}>, {origin}"


def silver_ddl(pipeline: Pipeline, name: str) -> str:
    table = pipeline.silver[name]
    columns = [*own_columns(table).items(), *taken_columns(pipeline, table).items()]
    event = "_event_at timestamp, " if table.event_time else ""
    seen = f", {SEEN_DDL}" if pipeline.is_watermarked(name) else ""
    tags = f", {TAGS_DDL}" if pipeline.tagging(f"silver.{name}") else ""
    return f"{_declared(columns)}, {event}{_origin(table)}{tags}{seen}"


def deleted_ddl(table: Silver | Dimension) -> str:
    """Versions that deleted their key: the key, the sequence, and where they came from."""
    identity = dict.fromkeys([*(table.key or ()), *table.sequence])
    declared = ((name, table.columns[name].type) for name in identity if name in table.columns)
    return f"{_declared(declared)}, {_origin(table)}"


def _origin(table: Silver | Dimension) -> str:
    return f"{ORIGIN_DDL}, {ARRIVAL_DDL}" if table.keeps_arrival else ORIGIN_DDL


def _declared(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns)
