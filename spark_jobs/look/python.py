"""Tables by name for Python: each at one version, as Arrow, Polars, pandas or Spark. `weir.open` begins it.

A table is read as it is, like by any reader of Delta; `query` masks sensitive values, as `weir query` does.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.config.errors import UsageError
from spark_jobs.config.loading import Project, load_project
from spark_jobs.lake.snapshot import Commit, Snapshot, Version
from spark_jobs.look.names import TableRef, find_table, known_tables, known_version

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame, SparkSession

HISTORY = 100


@dataclass(frozen=True)
class Table:
    """A table at a version, which stays the same while a load writes newer ones."""

    name: str
    version: int
    _ref: TableRef
    _snapshot: Snapshot

    @property
    def columns(self) -> dict[str, str]:
        """With their types, as a pipeline file has them."""
        return {column.name: column.type for column in self._snapshot.columns}

    @property
    def path(self) -> str:
        """The folder or URI of the Delta table."""
        return self._snapshot.path

    def __len__(self) -> int:
        return self._snapshot.rows()

    def history(self, limit: int = HISTORY) -> list[Commit]:
        """The newest commits up to this version, the newest first."""
        return self._snapshot.history(limit)

    def at(self, version: Version | str) -> "Table":
        """The same table at another version: its number, `v3`, or a time."""
        return _table(self._ref, known_version(version, "at") if isinstance(version, str) else version)

    def dataset(self) -> "ds.Dataset":
        """For those who read only what they need: nothing is loaded yet."""
        return self._snapshot.dataset()

    def arrow(self, columns: Sequence[str] | None = None) -> "pa.Table":
        return self.dataset().to_table(columns=None if columns is None else list(columns))

    def polars(self, columns: Sequence[str] | None = None) -> "pl.DataFrame":
        import polars as pl  # not in Weir's environment: `uv pip install polars`

        found = pl.from_arrow(self.arrow(columns))
        assert isinstance(found, pl.DataFrame)
        return found

    def pandas(self, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        found: pd.DataFrame = self.arrow(columns).to_pandas()
        return found

    def spark(self, session: "SparkSession | None" = None) -> "DataFrame":
        """In this session, or the one that is active; it needs Delta's jars."""
        from pyspark.sql import SparkSession

        from spark_jobs.lake.tables import read

        asked = session or SparkSession.getActiveSession()
        if asked is None:
            hint = "docs/tables.md, Reading the tables, has one with Delta's jars"
            raise UsageError(
                "spark", None, "there is no active Spark session", f"start one, or hand one over; {hint}"
            )
        return read(asked, self.path, self.version)

    def __repr__(self) -> str:
        return f"<{self.name} version {self.version}, {len(self.columns)} columns>"


@dataclass(frozen=True)
class OpenLake:
    """The tables of a project."""

    project: Project

    def tables(self) -> list[str]:
        """The names of all tables that may be there; `table` raises NotThere for one that is not yet."""
        return list(known_tables(self.project))

    def table(self, name: str) -> Table:
        """`retail.silver.orders`, or a version of it as in `retail.silver.orders@v3`: it stays as it is,
        whatever is written afterwards. UsageError for a name that is none, NotThere.
        """
        ref, at = find_table(self.project, name, "table")
        return _table(ref, at)

    def query(self, sql: str) -> "pa.Table":
        """The whole answer to a SELECT, as `weir query` gives it: sensitive values masked. UsageError,
        NotThere, QueryFailed.
        """
        from spark_jobs.look.query import answer_table

        return answer_table(self.project, sql)

    def __repr__(self) -> str:
        return f"<lake {self.project.lake} of {', '.join(self.project.pipelines) or 'no pipeline'}>"


def open_lake(project: str | Path | None = None, profile: str | None = None) -> OpenLake:
    """The lake of the project in this folder; without one, as the command finds it: WEIR_HOME, or the nearest
    folder above this one that has conf/lakehouse.yml. ConfigError where it cannot be used.
    """
    environ: dict[str, Any] = {**os.environ, **({"WEIR_PROFILE": profile} if profile else {})}
    return OpenLake(load_project(Path(project).expanduser() if project else None, environ))


def _table(ref: TableRef, at: Version | None) -> Table:
    snapshot = ref.open(at)
    return Table(ref.full_name, snapshot.version, ref, snapshot)
