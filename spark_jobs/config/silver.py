"""What a silver table and a dimension are: columns, keys, versions and event time."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from spark_jobs.config.errors import Hinted
from spark_jobs.config.lookups import Lookups
from spark_jobs.config.names import (
    ARRIVED_AT,
    NEWEST_ARRIVAL,
    ColumnName,
    Duration,
    Model,
    Name,
    Names,
    Sequence,
    Share,
)
from spark_jobs.config.types import SparkType


def _as_column(value: object) -> object:
    """`amount: bigint` is short for `amount: {type: bigint}`."""
    return {"type": value} if isinstance(value, str) else value


def _as_event_time(value: object) -> object:
    """`event_time: read_at` is short for `event_time: {column: read_at}`."""
    return {"column": value} if isinstance(value, str) else value


def _as_field(value: object) -> object:
    """`from: 2` is short for `from: "2"`: rows of CSV without names have their fields by number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Column(Model):
    """A typed column, taken from the field of its own name, from a path in the record, or from a SQL
    expression.
    """

    type: SparkType = Field(description="a Spark SQL type, as in bigint or decimal(12,2)")
    from_: Annotated[str | None, BeforeValidator(_as_field, json_schema_input_type=str | int | None)] = Field(
        None, alias="from", min_length=1, description="path in the record, as in payment.amount"
    )
    sql: str | None = Field(None, min_length=1, description="expression over other columns of the table")
    required: bool = Field(False, description="a row without a value is quarantined")
    sensitive: bool = Field(False, description="its values are shown nowhere but in the tables themselves")
    rest: bool = Field(False, description="JSON text of the record's fields that no column takes")

    @property
    def has_path(self) -> bool:
        """Whether it is one field of the record."""
        return self.sql is None and not self.rest

    @model_validator(mode="after")
    def _one_origin(self) -> "Column":
        if self.rest and (self.from_ is not None or self.sql is not None or self.type != "string"):
            raise Hinted(
                "'rest' is incompatible with 'from', 'sql' and other types",
                "write {type: string, rest: true}",
            )
        if self.from_ is not None and self.sql is not None:
            raise Hinted("'from' is incompatible with 'sql': a column has one origin", "keep one of the two")
        return self


Columns = dict[
    ColumnName, Annotated[Column, BeforeValidator(_as_column, json_schema_input_type=str | Column)]
]


Ties = Literal["hash", "newest_arrival"]
MOST_EXPLODED = 2**38
"""Of a record that is exploded, its elements times its bytes: each element is judged with the whole record at
hand, and millions of them in one of megabytes would take days.
"""
TIES = (
    "versions of one sequence that say different things: a hash of their content decides, or the one that"
    " arrived last wins"
)

SEQUENCE = (
    "column or columns: the greater value is the newer version, whatever the order of arrival;"
    " newest_arrival: the last load wins"
)


def _as_snapshot(value: object) -> object:
    """`snapshot: true` is short for one with the usual bound."""
    return {} if value is True else None if value is False else value


class Snapshot(Model):
    """Each snapshot of the feed has all members."""

    may_end: Share = Field(
        "20%", description="the share of the members that one snapshot may end; a greater one is blocked"
    )


class Dimension(Model):
    """A table that facts are joined with: its current rows (scd1), or every version with
    its interval (scd2).
    """

    from_: Name = Field(alias="from", description="a source of this pipeline")
    key: Names = Field(min_length=1, description="column or columns that identify a member")
    columns: Columns = Field(min_length=1)
    sequence_by: Sequence = Field(min_length=1, description=SEQUENCE)
    ties: Ties = Field("hash", description=TIES)
    history: Literal["scd1", "scd2"] = Field(
        "scd1",
        description="scd1: the newest version; scd2: all versions, each with _valid_from and _valid_to",
    )
    where: str | None = Field(
        None, min_length=1, description="SQL condition; other rows are dropped and counted as filtered"
    )
    delete_when: str | None = Field(
        None,
        min_length=1,
        description="SQL condition: such a version ends its member; it needs only the key and sequence_by",
    )

    snapshot: Annotated[
        Snapshot | None, BeforeValidator(_as_snapshot, json_schema_input_type=bool | Snapshot)
    ] = Field(None, description="the feed sends all members each time: one that the newest lacks has ended")
    lookup: Lookups = Field(default_factory=dict)

    @property
    def has_ends(self) -> bool:
        """Whether a member may end."""
        return self.delete_when is not None or self.snapshot is not None

    @property
    def sequence(self) -> list[str]:
        """The columns that order versions, the first before the second; none where their arrival does. In a
        history a version is then valid from when it arrived.
        """
        if self.sequence_by != [NEWEST_ARRIVAL]:
            return self.sequence_by
        return [ARRIVED_AT] if self.history == "scd2" or self.snapshot else []

    @property
    def keeps_arrival(self) -> bool:
        """Whether the arrival of a row decides between versions, and so is kept."""
        return self.ties == NEWEST_ARRIVAL or self.sequence_by == [NEWEST_ARRIVAL]


class EventTime(Model):
    """When the fact happened. A time further ahead of its arrival than `future`, or behind it than `past`, is
    a mistake of the feed.
    """

    column: ColumnName
    future: Duration = Field("1 day", description="how far ahead of the arrival it may be")
    past: Duration | None = Field(
        None, description="how far behind the arrival it may be; without it any time from the year 1 on"
    )


class Silver(Model):
    """Typed rows of one source: the newest version per key, or every row where no key is given."""

    from_: Name = Field(alias="from", description="a source of this pipeline")
    columns: Columns = Field(min_length=1)
    explode: str | None = Field(
        None,
        min_length=1,
        description="path of an array: one row per element, whose fields are reached as array.field",
    )
    key: Names | None = Field(
        None, min_length=1, description="upsert by these columns; without a key rows are appended"
    )
    sequence_by: Sequence | None = Field(
        None, min_length=1, description=f"{SEQUENCE}; without it the event time"
    )
    ties: Ties = Field("hash", description=TIES)
    event_time: (
        Annotated[EventTime, BeforeValidator(_as_event_time, json_schema_input_type=str | EventTime)] | None
    ) = None
    where: str | None = Field(
        None, min_length=1, description="SQL condition; other rows are dropped and counted as filtered"
    )
    delete_when: str | None = Field(
        None,
        min_length=1,
        description="SQL condition: such a version deletes its key; it needs only the key and sequence_by",
    )
    lookup: Lookups = Field(default_factory=dict)

    @property
    def sequence(self) -> list[str]:
        """The columns that order versions, the first before the second: those of sequence_by, else the event
        time. None where their arrival does, or nothing.
        """
        if self.sequence_by is None:
            return [self.event_time.column] if self.event_time else []
        return [] if self.sequence_by == [NEWEST_ARRIVAL] else self.sequence_by

    @property
    def keeps_arrival(self) -> bool:
        """Whether the arrival of a row decides between versions, and so is kept."""
        return self.ties == NEWEST_ARRIVAL or self.sequence_by == [NEWEST_ARRIVAL]
