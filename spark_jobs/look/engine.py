"""DuckDB over tables that delta-rs opens: in this process, without a JVM. What runs there reads these tables
and nothing else.
"""

import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import duckdb
from duckdb.func import NATIVE, FunctionNullHandling

from spark_jobs.lake.delta_table import quoted
from spark_jobs.lake.snapshot import Snapshot
from spark_jobs.look.masks import Part, masked_columns, masking_sql
from spark_jobs.look.sql import Named

LOCKED = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


@contextmanager
def open_engine() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of its own, in memory. What does not fit there goes to a folder that is gone afterwards;
    half of the memory is left to others, as to a load that is at work.
    """
    with tempfile.TemporaryDirectory(prefix="weir-") as scratch:
        engine = duckdb.connect(":memory:", config={"memory_limit": "50%", "temp_directory": scratch})
        try:
            # a variable of this program is no table
            engine.execute("SET python_enable_replacements = false")
            engine.execute("SET TimeZone = 'UTC'")
            yield engine
        finally:
            engine.close()


def lock(engine: duckdb.DuckDBPyConnection) -> None:
    """From here on no file, no network, no other database and no other setting."""
    for setting in LOCKED:
        engine.execute(setting)


def register_masked(engine: duckdb.DuckDBPyConnection, tables: Iterable[tuple[Named, Snapshot]]) -> None:
    """Each table in its place, sensitive values masked."""
    for named, snapshot in tables:
        catalog, schema, table = map(quoted, named.place)
        engine.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {catalog}")
        engine.execute(f"CREATE SCHEMA IF NOT EXISTS {catalog}.{schema}")
        raw = register(engine, snapshot)
        shown = ", ".join(_select(engine, named, snapshot))
        engine.execute(f"CREATE VIEW {catalog}.{schema}.{table} AS SELECT {shown} FROM {raw}")


def register(engine: duckdb.DuckDBPyConnection, snapshot: Snapshot) -> str:
    """The table as it is, under a name that nobody can guess: what it holds may be sensitive."""
    name = f"raw_{secrets.token_hex(16)}"
    engine.register(name, snapshot.dataset())
    return f"temp.main.{name}"


def _select(engine: duckdb.DuckDBPyConnection, named: Named, snapshot: Snapshot) -> Iterator[str]:
    columns = [column.name for column in snapshot.columns]
    masks = masked_columns(named.ref, columns)
    for name in columns:
        if name not in masks:
            yield quoted(name)
        elif (part := masks[name]) is None:
            yield masking_sql(name)
        else:
            yield f"{_function(engine, part)}({quoted(name)}) AS {quoted(name)}"


def _function(engine: duckdb.DuckDBPyConnection, part: Part) -> str:
    name = f"mask_{secrets.token_hex(8)}"
    # NULL comes to the function as well
    engine.create_function(
        name, part.mask, [part.type], part.type, type=NATIVE, null_handling=FunctionNullHandling.SPECIAL
    )
    return name
