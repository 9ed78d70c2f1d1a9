"""What a table takes of dimensions, and in which order: a lookup may use what another one took."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from spark_jobs.config.names import ColumnName, Duration, Model, Name, Names


def _as_taken(value: object) -> object:
    """A list of columns, each as its name or as {column: name here}; `take: city` and
    `take: {city: customer_city}` are short for it.
    """
    parts: list[object] = []
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            parts += [column if name == column else {column: name} for column, name in part.items()]
        else:
            parts.append(part)
    return parts


def _kind_of_taken(value: object) -> str:
    return RENAMED if isinstance(value, dict) else SAME_NAME


SAME_NAME, RENAMED = "(name)", "(renamed)"
Renamed = dict[ColumnName, ColumnName]
Taken = Annotated[
    list[
        Annotated[
            Annotated[ColumnName, Tag(SAME_NAME)] | Annotated[Renamed, Tag(RENAMED)],
            Discriminator(_kind_of_taken),
        ]
    ],
    BeforeValidator(_as_taken, json_schema_input_type=ColumnName | Renamed | list[ColumnName | Renamed]),
]


class Lookup(Model):
    """A stream-static join with a dimension of this pipeline."""

    on: Names = Field(
        min_length=1, description="this table's columns that match the dimension's key, in its order"
    )
    as_of: ColumnName | None = Field(
        None, description="scd2: the time at which the version was valid; without it the event time"
    )
    take: Taken = Field(
        min_length=1,
        description="columns of the dimension to add: their names, or {column: its name in this table}",
    )
    if_missing: Literal["park", "unknown", "quarantine"] = Field(
        "unknown",
        description=(
            "no member: park the row until it comes, publish it with NULLs (corrected later), or"
            " quarantine it"
        ),
    )
    give_up_after: Duration | None = Field(
        None,
        description=(
            "park only: when files go on arriving for so long, the row is published with NULLs; without it it"
            " waits for ever"
        ),
    )

    @property
    def uses(self) -> list[str]:
        """The columns of the table that it is joined by."""
        return [*self.on, *([self.as_of] if self.as_of else [])]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What it takes, as written: the name in this table, and the dimension's column."""
        return [
            (name, column)
            for part in self.take
            for column, name in (part.items() if isinstance(part, dict) else [(part, part)])
        ]

    @property
    def taken(self) -> dict[str, str]:
        """The columns that it adds to this table, each with the dimension's column."""
        return dict(self.pairs)


Lookups = dict[Name, Lookup]


class LookupRing(Exception):
    """Lookups of which each uses what the next one takes, and the last what the first one takes."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(" -> ".join(names))


def lookups_used(lookups: Lookups, own: Collection[str]) -> dict[str, list[str]]:
    """Per lookup the others that take what it is joined by; a column of the table itself comes first."""
    takers = {column: name for name, lookup in lookups.items() for column in lookup.taken}
    return {
        name: list(dict.fromkeys(takers[c] for c in lookup.uses if c in takers and c not in own))
        for name, lookup in lookups.items()
    }


def in_order(lookups: Lookups, own: Collection[str]) -> list[str]:
    """The lookups, each after those whose columns it uses, else as they are written. LookupRing where there
    is no such order.
    """
    used, done = lookups_used(lookups, own), list[str]()
    while waiting := [name for name in lookups if name not in done]:
        ready = next((name for name in waiting if set(used[name]) <= set(done)), None)
        if ready is None:
            ring = [waiting[0]]
            while (after := next(other for other in used[ring[-1]] if other not in done)) not in ring:
                ring.append(after)
            raise LookupRing([*ring[ring.index(after) :], after])
        done.append(ready)
    return done
