"""The SQL of a table in PostgreSQL: its notes of what was delivered, its columns, and the changes of a
batch.
"""

import hashlib
from collections.abc import Iterator, Sequence

from spark_jobs.config.sinks import JdbcSink
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.counts import Counts
from spark_jobs.sinks.changes import DELETE, OPERATION
from spark_jobs.sinks.delivery import Delivery

NOTES = "weir_delivered"
"""Beside the target: one row per batch that it has."""


class TargetTable:
    """The statements about one target. Everything in them is a checked identifier, a number or a name of our
    own.
    """

    def __init__(self, sink: JdbcSink, delivery: Delivery) -> None:
        schema, _, table = sink.table.rpartition(".")
        self.sink, self.delivery, self.told = sink, delivery, delivery.told
        self.schema = _quote(schema or "public")
        self.table, self.plain = f"{self.schema}.{_quote(table)}", f"{schema or 'public'}.{table}"
        own = hashlib.sha256(
            f"{delivery.lake_id}/{self.told.pipeline}/{self.told.sink}".encode()
        ).hexdigest()[:16]
        self.staging, self.notes = (
            f"{self.schema}.{_quote(f'weir_stage_{own}')}",
            f"{self.schema}.{_quote(NOTES)}",
        )
        self.columns = [*delivery.columns, *([sink.operation] if sink.operation else [])]

    @property
    def key(self) -> list[str]:
        return list(self.delivery.key or ()) if self.sink.mode == "update" else []

    def make_notes(self) -> str:
        who = "lake text, pipeline text, sink text, generation bigint, step text, batch bigint"
        counted = "rows_in bigint, inserted bigint, updated bigint, deleted bigint, version bigint"
        key = "PRIMARY KEY (lake, pipeline, sink, generation, step, batch)"
        at = "delivered_at timestamptz DEFAULT now(), name text, place bigserial"
        return f"CREATE TABLE IF NOT EXISTS {self.notes} ({who}, {counted}, target text, {at}, {key})"

    def find_names(self) -> str:
        """Notes of earlier versions knew batches by their numbers alone."""
        return (
            f"SELECT 1 FROM pg_attribute WHERE attrelid = '{self.notes}'::regclass AND attname = 'name' AND"
            " NOT attisdropped"
        )

    def add_names(self) -> str:
        return f"ALTER TABLE {self.notes} ADD COLUMN name text, ADD COLUMN place bigserial"

    def find_note(self) -> str:
        counts = "rows_in, inserted, updated, deleted, version"
        return (
            f"SELECT {counts}, {self._name()} FROM {self.notes} WHERE {self._is_sink()} AND"
            f" {self._is_batch()}"
        )

    def find_last(self) -> str:
        return f"SELECT {self._name()} FROM {self.notes} WHERE {self._is_sink()} ORDER BY place DESC LIMIT 1"

    def forget_notes(self) -> str:
        """Before the note of a whole, which replaces what all others brought. A batch of another history may
        have had its number.
        """
        return (
            f"DELETE FROM {self.notes} WHERE {self._is_sink()} AND (target = '{self.plain}' OR"
            f" {self._is_batch()})"
        )

    def _is_batch(self) -> str:
        return (
            f"generation = {self.told.generation} AND step = '{self.told.step}' AND batch ="
            f" {self.told.number}"
        )

    def _name(self) -> str:
        numbers = "'/g' || generation || '/' || step || '/' || batch"
        return f"coalesce(name, pipeline || '/sink.' || sink || '/' || lake || {numbers})"

    def find_sink(self) -> str:
        return f"SELECT 1 FROM {self.notes} WHERE {self._is_sink()} AND target = '{self.plain}' LIMIT 1"

    def note(self, counts: Counts, version: int | None) -> str:
        told = self.told
        who = (
            f"'{self.delivery.lake_id}', '{told.pipeline}', '{told.sink}', {told.generation}, '{told.step}',"
            f" {told.number}"
        )
        counted = (
            f"{counts.rows_in}, {counts.inserted}, {counts.updated}, {counts.deleted},"
            f" {'NULL' if version is None else version}"
        )
        columns = (
            "lake, pipeline, sink, generation, step, batch, rows_in, inserted, updated, deleted, version,"
            " target, name"
        )
        return f"INSERT INTO {self.notes} ({columns}) VALUES ({who}, {counted}, '{self.plain}', '{told.id}')"

    def create(self) -> Iterator[str]:
        yield f"CREATE TABLE {self.table} AS SELECT {self._list()} FROM {self.staging} WHERE false"
        if self.key:
            yield f"CREATE INDEX ON {self.table} ({', '.join(map(_quote, self.key))})"

    def find_types(self) -> str:
        return (
            "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
            f"WHERE attrelid = '{self.plain}'::regclass AND attnum > 0 AND NOT attisdropped"
        )

    def upserts(self, types: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Each row is changed or inserted once, so that together they are as many as were sent."""
        values = ", ".join(f"new.{_quote(name)}::{types.get(name, 'text')}" for name in self.columns)
        is_kept = "" if self.delivery.operation else f" AND new.{_quote(OPERATION)} <> '{DELETE}'"
        if self.key:
            others = [name for name in self.columns if name not in self.key]
            changed = ", ".join(
                f"{_quote(name)} = new.{_quote(name)}::{types.get(name, 'text')}"
                for name in others or self.key
            )
            yield (
                "changing rows",
                (
                    f"UPDATE {self.table} AS old SET {changed} FROM {self.staging} AS new WHERE"
                    f" {self._same(types)}{is_kept}"
                ),
            )
            missing = f"NOT EXISTS (SELECT 1 FROM {self.table} AS old WHERE {self._same(types)})"
        else:
            missing = "true"
        yield (
            "inserting rows",
            (
                f"INSERT INTO {self.table} ({self._list()}) SELECT {values} FROM {self.staging} AS new WHERE"
                f" {missing}{is_kept}"
            ),
        )

    def deletes(self, types: dict[str, str]) -> Iterator[tuple[str, str]]:
        if self.key:
            gone = f"new.{_quote(OPERATION)} = '{DELETE}'"
            yield (
                "deleting rows",
                (
                    f"DELETE FROM {self.table} AS old USING {self.staging} AS new WHERE {self._same(types)}"
                    f" AND {gone}"
                ),
            )
            if self.delivery.is_whole:
                there = f"SELECT 1 FROM {self.staging} AS new WHERE {self._same(types)}"
                yield "deleting rows of before", f"DELETE FROM {self.table} AS old WHERE NOT EXISTS ({there})"

    def empties(self) -> str | None:
        """Before the rows of a whole come in, without a key to compare by; a table of one row is a whole each
        time.
        """
        is_whole = self.delivery.is_whole or self.sink.mode == "update"
        return f"DELETE FROM {self.table}" if is_whole and not self.key else None

    def _same(self, types: dict[str, str]) -> str:
        """Window bounds and keys of silver are never NULL, and equality finds them by an index; a group may
        be NULL.
        """
        pairs = []
        for name in self.key:
            new = f"new.{_quote(name)}" + (f"::{types[name]}" if name in types else "")
            equals = "=" if name in self._never_null() else "IS NOT DISTINCT FROM"
            pairs.append(f"old.{_quote(name)} {equals} {new}")
        return " AND ".join(pairs) or "true"

    def _never_null(self) -> Sequence[str]:
        return self.key if TableName(self.told.table).has_keys else ("window_start", "window_end")

    def _is_sink(self) -> str:
        return (
            f"lake = '{self.delivery.lake_id}' AND pipeline = '{self.told.pipeline}' AND sink ="
            f" '{self.told.sink}'"
        )

    def _list(self) -> str:
        return ", ".join(map(_quote, self.columns))


def _quote(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
