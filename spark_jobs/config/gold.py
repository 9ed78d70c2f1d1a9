"""What a gold table is: windows, sessions or groups over a silver table, a SQL file, a Python function, or a
native stateful query.

The first four are functions of the tables that they read, and converge. A native query (state, dedup, join)
keeps what it has seen in Spark's state store, and gives what its batches give: docs/stateful.md.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from spark_jobs.config.calendar import LONGEST, Unit, Zone
from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import ColumnName, Delay, Duration, Model, Names, RelativePath, Tables
from spark_jobs.config.types import SparkType

Mode = Literal["append", "update", "complete"]
Kind = Literal["windows", "sessions", "groups", "sql", "python", "state", "dedup", "join"]
NATIVE: tuple[Kind, ...] = ("state", "dedup", "join")
HOOK = r"^[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*\.py:[A-Za-z_][A-Za-z0-9_]*$"


def _as_pairs(value: object) -> object:
    """`on: user_id` and `on: [user_id]` are short for `on: {user_id: user_id}`."""
    names = [value] if isinstance(value, str) else value
    return (
        {name: name for name in names}
        if isinstance(names, list) and all(isinstance(name, str) for name in names)
        else value
    )


class Window(Model):
    """Tumbling windows of `size`, sliding ones that start every `slide`, those of a `calendar`, or sessions
    that a `gap` without rows ends.
    """

    size: Duration | None = Field(None, description="how long a window is")
    slide: Duration | None = Field(
        None, description="sliding windows: how often one starts; at most the size"
    )
    gap: Duration | None = Field(
        None, description="sessions, in place of size: one ends when no row of its group came for so long"
    )
    calendar: Unit | None = Field(
        None, description="in place of size: the days, weeks from Monday on, months, … of a time zone"
    )
    zone: Zone | None = Field(
        None, description="calendar only: the time zone by its name, as in Europe/Berlin; without it UTC"
    )
    column: ColumnName | None = Field(
        None, description="a timestamp column of the silver table; without it its event time"
    )

    @model_validator(mode="after")
    def _has_one_length(self) -> "Window":
        given = [name for name in ("size", "gap", "calendar") if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"{' and '.join(map(repr, given))} are given" if given else "none is given"
            raise Hinted(
                f"a window has one of 'size', 'gap' and 'calendar', but {found}",
                "keep or add one, as in size: 1 hour, gap: 30 minutes or calendar: month",
            )
        if self.gap and self.slide:
            raise Hinted(
                "'slide' is incompatible with 'gap': a session starts with its first row",
                "remove slide, or use size",
            )
        if self.calendar and self.slide:
            raise Hinted(
                f"'slide' is incompatible with 'calendar': one {self.calendar} follows the other",
                "remove slide, or use size",
            )
        if self.zone and not self.calendar:
            raise Hinted(
                f"'zone' is incompatible with {given[0]!r}, which is so long whatever clocks say",
                "remove zone, or use calendar, as in calendar: day",
            )
        return self

    @property
    def length(self) -> str:
        """The size; only for windows that have one."""
        assert self.size is not None
        return self.size

    @property
    def longest(self) -> str:
        """No window is longer; only for those that are no sessions."""
        return LONGEST[self.calendar] if self.calendar else self.length

    @property
    def step(self) -> str:
        return self.slide or self.length


class Dedup(Model):
    """The first of the rows that agree in `on`; others that come `within` this time of it are dropped and
    counted.
    """

    on: Names = Field(
        min_length=1, description="columns of the silver table that two copies of a row have in common"
    )
    within: Duration = Field(
        description="how far apart in event time copies may be; also how late a row may come"
    )


class JoinSide(Model):
    """One of the two inputs of a join."""

    from_: str = Field(
        alias="from", description="silver.<table> of this pipeline, without key and lookup, with event_time"
    )
    watermark: Delay = Field(description="how late its rows may come, behind its own greatest event time")


class Within(Model):
    """How far apart in event time two rows may be that belong together: a row is kept no longer than it can
    still find another.
    """

    before: Duration | None = Field(
        None, description="the right row may be so much earlier than the left one; without it not at all"
    )
    after: Duration | None = Field(
        None, description="the right row may be so much later than the left one; without it not at all"
    )

    @model_validator(mode="after")
    def _has_a_bound(self) -> "Within":
        if self.before is None and self.after is None:
            raise Hinted("'within' says nothing", "add before, after or both, as in {after: 1 hour}")
        return self


class Join(Model):
    """A stream-stream join: rows of two silver tables that agree in `on` and lie `within` a time of one
    another.
    """

    left: JoinSide
    right: JoinSide
    kind: Literal["inner", "left", "full"] = Field(
        "inner", description="left, full: rows that found none are published with NULLs"
    )
    on: Annotated[
        dict[ColumnName, ColumnName],
        BeforeValidator(_as_pairs, json_schema_input_type=ColumnName | list[ColumnName] | dict[str, str]),
    ] = Field(
        min_length=1, description="columns that must be equal, as left: right; short where both have one name"
    )
    within: Within
    watermark_policy: Literal["min", "max"] = Field(
        "min",
        description=(
            "min: the input that is behind decides what is late; max: the one ahead, so that the other loses"
            " rows as late"
        ),
    )
    take: dict[ColumnName, str] = Field(
        min_length=1, description="columns of the table, as name: left.<column> or right.<column>"
    )

    @property
    def sides(self) -> dict[str, JoinSide]:
        return {"left": self.left, "right": self.right}


class Gold(Model):
    """A table computed from others: windows over a silver table, a SQL file, a Python function, or a native
    stateful query.
    """

    from_: str | None = Field(
        None,
        alias="from",
        description=(
            "silver.<table>, or <pipeline>.silver.<table> of another one, with measures, state or dedup;"
            " gold.<table>, with measures"
        ),
    )
    window: Window | None = None
    group_by: Names = Field(default_factory=list)
    measures: dict[ColumnName, str] = Field(
        default_factory=dict, description="name: SQL aggregate, as in revenue: sum(amount)"
    )
    running: dict[ColumnName, str] = Field(
        default_factory=dict,
        description="name: SQL aggregate over the measures of this window and those before it in its group",
    )
    where: str | None = Field(None, min_length=1, description="SQL condition on the rows that are read")
    sql: RelativePath | None = Field(
        None,
        description=(
            "a SELECT in a file below conf/, reading silver.x, dimension.x, gold.x or <pipeline>.silver.x"
        ),
    )
    python: str | None = Field(
        None, pattern=HOOK, description="file below conf/ and function, as in hooks/retail.py:build"
    )
    inputs: Tables = Field(
        default_factory=list, description="python only: the tables it takes, in the order of its parameters"
    )
    state: str | None = Field(
        None,
        pattern=HOOK,
        description="file below conf/ and class, a StatefulProcessor, as in hooks/sessions.py:UserSessions",
    )
    key: Names | None = Field(
        None, description="state only: the rows that agree in these columns share a state"
    )
    columns: dict[ColumnName, SparkType] | None = Field(
        None, description="state only: what the class emits, as name: type"
    )
    timers: Literal["event", "processing"] | None = Field(
        None,
        description=(
            "state only: timers fire by the watermark (event), or by the clock of the run (processing), which"
            " TTL needs"
        ),
    )
    dedup: Dedup | None = None
    join: Join | None = None
    emit: Mode | None = Field(
        None,
        description=(
            "append: closed windows only, native rows once; update: every changed window; complete: the whole"
            " table"
        ),
    )
    watermark: Delay | None = Field(
        None,
        description=(
            "a window is closed once its end lies so far behind the greatest event time; rows that come later"
            " are late; 0 seconds: once its end is reached"
        ),
    )
    late: Literal["repair", "keep"] | None = Field(
        None,
        description=(
            "repair: a late row reopens and replaces its window; keep: it is set aside with its window and"
            " its lateness"
        ),
    )

    @property
    def kind(self) -> Kind:
        if self.join or self.state or self.dedup:
            return "join" if self.join else "state" if self.state else "dedup"
        if self.sql or self.python:
            return "sql" if self.sql else "python"
        return "groups" if self.window is None else "sessions" if self.window.gap else "windows"

    @property
    def is_native(self) -> bool:
        return self.kind in NATIVE

    @property
    def keeps_late(self) -> bool:
        """Whether rows that come too late are set aside, and do not count there."""
        return self.is_native or self.late == "keep"

    @property
    def reads_gold(self) -> bool:
        """Whether it aggregates another gold table of its pipeline."""
        return (self.from_ or "").startswith("gold.")

    @property
    def mode(self) -> Mode:
        is_whole = self.window is None or self.reads_gold or bool(self.running)
        return self.emit or ("append" if self.is_native else "complete" if is_whole else "update")

    @property
    def delays(self) -> list[tuple[str, str | None]]:
        """The silver tables that it reads row by row, each with how late its rows may come."""
        if self.join:
            return [(side.from_, side.watermark) for side in self.join.sides.values()]
        if self.from_ is None or self.reads_gold:
            return []
        return [(self.from_, self.dedup.within if self.dedup else self.watermark)]
