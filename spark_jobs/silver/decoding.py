"""How the records of a table's source become its columns, from the pipeline file."""

from dataclasses import dataclass
from typing import Any

from spark_jobs.config.silver import Columns
from spark_jobs.config.sources import AnySource, FileSource

ORIGIN = ("_file", "_file_id", "_line", "_arrived_at")
PLACE = (*ORIGIN, "_chunk", "_file_modified_at")


@dataclass(frozen=True)
class Decoding:
    """How the records of a table's source become its columns. A version that deletes needs only its
    `identity`, the key and sequence.
    """

    source_format: str
    columns: Columns
    explode: str | None = None
    where: str | None = None
    required: tuple[str, ...] = ()
    event_time: str | None = None
    future: str | None = None
    past: str | None = None
    delete_when: str | None = None
    identity: tuple[str, ...] = ()
    fields: str | None = None
    """Of a text source: the expression whose groups are the fields of a line."""
    own_fields: frozenset[str] = frozenset()
    """Fields that a record has from its message, and not from its value."""
    skip_lines: int = 0
    comment: str | None = None
    """Of a text source: which lines are in bronze and in no table."""

    source: AnySource | None = None

    @property
    def origins(self) -> dict[str, str]:
        """The columns that take where a record came from, with what they take."""
        taken = {name: self.source and self.source.origin_of(c.from_) for name, c in self.columns.items()}
        return {name: origin for name, origin in taken.items() if origin}

    @property
    def in_record(self) -> list[str]:
        """The columns that are one field of the record."""
        return [name for name, column in self.columns.items() if column.has_path and name not in self.origins]

    def path_of(self, name: str) -> tuple[str, ...]:
        """Fields of a CSV header are taken by their whole name; elsewhere dots lead into objects."""
        origin = self.columns[name].from_ or name
        return (origin,) if self.source_format == "csv" else tuple(origin.split("."))

    @property
    def taken_paths(self) -> set[tuple[str, ...]]:
        """The fields that columns take, and those that a record has from its message."""
        taken = {self.path_of(name) for name in self.in_record}
        return (
            taken
            | {(name,) for name in self.own_fields}
            | ({self.explode_path} if self.explode_path else set())
        )

    @property
    def explode_path(self) -> tuple[str, ...] | None:
        return tuple(self.explode.split(".")) if self.explode else None


def of_records(source: AnySource) -> dict[str, Any]:
    """What decoding needs to know of the source, by the names of `Decoding`."""
    known: dict[str, Any] = {
        "source_format": source.record_format,
        "fields": source.fields,
        "own_fields": source.own_fields,
        "source": source,
    }
    if isinstance(source, FileSource) and source.format == "text":
        known |= {"skip_lines": source.skip_lines, "comment": source.comment}
    return known
