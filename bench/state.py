"""The size of RocksDB state per million keys: a state table with one small value per key, and dedup of as
many ids.

Run alone: python -m bench.state
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from bench.project import run_project, write_project
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger

KEYS = 1_000_000
PIPELINE = """
pipeline: keys
sources: {clicks: {format: json, path: clicks}}
silver:
  clicks: {from: clicks, columns: {user: bigint, at: timestamp}, event_time: at}
gold:
  counts:
    from: silver.clicks
    state: hooks/count.py:Count
    key: user
    columns: {user: bigint, rows: int}
    watermark: 1 hour
  once: {from: silver.clicks, dedup: {on: user, within: 1 hour}}
"""
HOOK = '''
from pyspark.sql.streaming.stateful_processor import StatefulProcessor


class Count(StatefulProcessor):
    """Keeps how many rows of its key have come, and emits nothing."""

    def init(self, handle):
        self.seen = handle.getValueState("seen", "rows int")

    def handleInputRows(self, key, rows, timerValues):
        self.seen.update(((self.seen.get() or (0,))[0] + len(list(rows)),))
        return iter(())

    def close(self):
        pass
'''


def main() -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        rows = "".join(f'{{"user":{key},"at":"2026-03-01T10:00:00Z"}}\n' for key in range(KEYS))
        write_project(
            home,
            {"conf/pipelines/keys.yml": PIPELINE, "conf/hooks/count.py": HOOK, "landing/clicks/1.json": rows},
        )
        print(f"{KEYS:,} keys: {run_project(home, 'keys')}")
        lake = Lake(str(home / "lake"), "keys")
        seconds = {row["table"]: row["seconds"] for row in Ledger(lake).rows("tables", ["table", "seconds"])}
        for table in ("gold.counts", "gold.once"):
            files = [
                file.stat().st_size
                for file in Path(lake.checkpoint(table, 1), "state").rglob("*")
                if file.is_file()
            ]
            print(
                f"{table}: {sum(files) * 1_000_000 / KEYS / 1e6:.0f} MB of state per million keys,"
                f" {seconds[table]:.0f} s"
            )


if __name__ == "__main__":
    main()
