"""A landing zone with one source in a temporary folder, and a bronze table that says what could be read."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from spark_jobs.config.sources import FileSource
from spark_jobs.lake.layout import Lake
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.look import Arrivals, register_arrivals
from spark_jobs.landing.taking import Taking, take_file
from tests.conftest import unguarded

AT = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class LandingZone:
    root: Path

    def feed(self, **keys: Any) -> Feed:
        lake = Lake(str(self.root / "lake"), "shop")
        return make_feed(
            lake,
            str(self.root / "landing"),
            "orders",
            FileSource(path="shop/orders", **{"format": "json", **keys}),
            unguarded,
        )

    def land(self, name: str, content: bytes = b"{}", modified: int | None = None) -> Path:
        file = self.root / "landing" / "shop" / "orders" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if modified is not None:
            os.utime(file, (modified, modified))
        return file

    def register(self, at: datetime = AT, consumed: int | None = None, **keys: Any) -> Arrivals:
        return register_arrivals(self.feed(**keys), at, consumed)

    def take(self, name: str, consumed: int | None = None, **keys: Any) -> Taking:
        return take_file(self.feed(**keys), f"shop/orders/{name}", AT, "me@here", consumed)

    def arrivals(self, *columns: str) -> list[tuple[Any, ...]]:
        """The rows in the order of chunks and paths; paths without the folder."""
        rows = DeltaTable(self.feed().arrivals).to_pyarrow_table().to_pylist()
        rows = [{**row, "path": row["path"].removeprefix("shop/orders/")} for row in rows]
        return [
            tuple(row[name] for name in columns)
            for row in sorted(rows, key=lambda row: (row["chunk"], row["path"]))
        ]

    def read(self, name: str, line: int) -> None:
        """Say in bronze what became of the newest content that was taken under this name: a record, or at
        line 0 a problem.
        """
        [*_, file_id] = [
            file_id
            for path, verdict, file_id in self.arrivals("path", "verdict", "file_id")
            if (path, verdict) == (name, "taken")
        ]
        write_deltalake(
            self.feed().bronze,
            pa.table({"_file_id": [file_id], "_line": pa.array([line], pa.int64())}),
            mode="append",
        )


def named(found: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {path.removeprefix("shop/orders/"): reason for path, reason in found}
