"""From landing to gold in the always-on mode: small files land one after the other, and the time is taken
until gold has counted each.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from deltalake import DeltaTable

from bench.measure import OUT, ROOT

EXAMPLES = ROOT / "docs" / "examples"
VIEWS = 100
PATIENCE = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=30, help="that are measured")
    parser.add_argument("--warm-up", type=int, default=15, help="files before them")
    arguments = parser.parse_args()
    follow(arguments.files, arguments.warm_up)


def follow(files: int, warm_up: int) -> None:
    folder = OUT / "latency"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES / "conf", folder / "conf")
    shutil.copy(ROOT / "conf" / "log4j2.properties", folder / "conf")
    (folder / ".envs").symlink_to(ROOT / ".envs")
    gold = folder / "lake" / "page_views" / "gold" / "views_per_hour"
    environ = {**os.environ, "WEIR_HOME": str(folder)}
    command = [sys.executable, "-m", "spark_jobs.cli", "stream", "page_views", "--give-up-after", "1"]
    print(
        f"always on: {files} files of {VIEWS} views after {warm_up}, each landed when the one before is in"
        " gold",
        flush=True,
    )
    with open(folder / "stream.log", "wb") as log:
        stream = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        try:
            waited = [_land_and_wait(folder, gold, number, stream) for number in range(warm_up + files)]
        finally:
            stream.send_signal(signal.SIGTERM)
            stream.wait(PATIENCE)
    _print(waited[0], sorted(waited[warm_up:]))


def _land_and_wait(folder: Path, gold: Path, number: int, stream: "subprocess.Popen[bytes]") -> float:
    """Land a file as one should, by a rename, and wait until its views are counted."""
    first, hour = number * VIEWS, f"2024-05-01T{number % 24:02}"
    lines = [
        f'{{"view_id": {first + view}, "page": "/{view % 7}", "seen_at": "{hour}:00:00Z"}}'
        for view in range(VIEWS)
    ]
    new, target = folder / "new.json", folder / "landing" / "page_views" / f"{number:05}.json"
    new.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    new.rename(target)
    while _counted(gold) < first + VIEWS:
        if stream.poll() is not None or time.monotonic() - started > PATIENCE:
            sys.exit(
                "the stream has ended, or takes too long:"
                f" {(folder / 'stream.log').read_text(errors='replace')[-2000:]}"
            )
        time.sleep(0.05)
    return time.monotonic() - started


def _counted(gold: Path) -> int:
    if not DeltaTable.is_deltatable(str(gold)):
        return 0
    return sum(DeltaTable(gold).to_pyarrow_table(columns=["view_count"]).column("view_count").to_pylist())


def _print(cold: float, waited: list[float]) -> None:
    p50, p95 = waited[len(waited) // 2], waited[int(len(waited) * 0.95)]
    print(f"  landing to gold: p50 {p50:.1f} s, p95 {p95:.1f} s, most {waited[-1]:.1f} s", flush=True)
    print(f"  the first, with Spark's start: {cold:.1f} s", flush=True)


if __name__ == "__main__":
    main()
