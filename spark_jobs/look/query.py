"""An answer of the lake to a query in SQL: the first rows, and which versions of which tables were read."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_jobs.config.errors import UsageError
from spark_jobs.config.loading import Project
from spark_jobs.look.engine import lock, open_engine, register_masked
from spark_jobs.look.names import known_tables, with_short_names
from spark_jobs.look.sql import WHERE, Question, read_question

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class QueryFailed(Exception):
    """The query was begun and cannot be ended: a value that does not fit, files that are gone, no memory."""

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"the query failed: {cause}; correct it, or, where a file is not found, ask a newer version:"
            " upkeep deletes what no version of the last days needs"
        )


@dataclass(frozen=True)
class Answer:
    """`versions` has the tables that were read, by full name; several versions of one are read as such."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    has_more: bool
    versions: dict[str, list[int]]
    seconds: float


@dataclass(frozen=True)
class _Asked:
    engine: "duckdb.DuckDBPyConnection"
    question: Question
    versions: dict[str, list[int]]


def answer(project: Project, sql: str, limit: int) -> Answer:
    """UsageError, NotThere, QueryFailed."""
    began = time.monotonic()
    with _asked(project, sql) as asked, telling(asked.question):
        found = asked.engine.execute(asked.question.sql)
        columns = tuple((str(name), str(kind)) for name, kind, *_ in found.description or ())
        rows = found.fetchmany(limit + 1)
    return Answer(
        columns, tuple(rows[:limit]), len(rows) > limit, asked.versions, round(time.monotonic() - began, 3)
    )


def answer_table(project: Project, sql: str) -> "pa.Table":
    """The whole answer as Arrow's columns."""
    with _asked(project, sql) as asked, telling(asked.question):
        return asked.engine.sql(asked.question.sql).to_arrow_table()


@contextmanager
def _asked(project: Project, sql: str) -> Iterator[_Asked]:
    """The tables that a query names, opened and registered, in an engine that is locked."""
    with open_engine() as engine:
        known = with_short_names(known_tables(project))
        question = read_question(sql, known, engine)
        opened = [(named, named.ref.open(named.at)) for named in question.tables]
        register_masked(engine, opened)
        lock(engine)
        versions: dict[str, list[int]] = {}
        for named, snapshot in opened:
            versions.setdefault(named.ref.full_name, []).append(snapshot.version)
        yield _Asked(engine, question, versions)


@contextmanager
def telling(question: Question | None = None) -> Iterator[None]:
    """What DuckDB has against a query, in the names that were written: against what it says, or against what
    became of it.
    """
    import duckdb

    try:
        yield
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as wrong:
        said = _in_written_names(_first_part(wrong), question)
        raise UsageError(
            WHERE, "", said, "columns: `weir show TABLE`; AS gives a table a short name"
        ) from wrong
    except duckdb.Error as failed:
        raise QueryFailed(_in_written_names(_first_part(failed), question)) from failed


def _first_part(error: Exception) -> str:
    """Without the line of the query, which is not the one that was written."""
    return " ".join(str(error).partition("\n\nLINE ")[0].split())


def _in_written_names(said: str, question: Question | None) -> str:
    for named in question.tables if question else ():
        catalog, schema, table = named.place
        said = said.replace(f'"{catalog}".{schema}.{table}', named.written)
    return said
