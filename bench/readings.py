"""A pipeline of meter readings with two rules for single rows, and deliveries whose rows meet all of them or
break both.
"""

from pathlib import Path

import pyarrow.compute as pc
from deltalake import DeltaTable

from bench.project import write_project

READINGS = """
pipeline: meters
sources: {readings: {format: json, path: readings}}
silver:
  readings:
    from: readings
    columns: {id: bigint, district: string, at: timestamp, kwh: "decimal(9,3)"}
    key: id
    event_time: at
"""
READING_RULES = """
expectations:
  kwh_in_range:
    {type: expect_column_values_to_be_between, kwargs: {column: kwh, min_value: 0}, on_fail: quarantine, reason: Nobody gives power back.}
  known_district:
    {type: expect_column_values_to_match_regex, kwargs: {column: district, regex: "^d[0-9]+$"}, on_fail: quarantine, reason: As on the map.}
"""
GOOD, FAILING = ("d{}", "{}"), ("x{}", "-1{}")
LINES_PER_FILE = 250_000


def readings_project(home: Path, rows: int, district: str, kwh: str) -> None:
    """The pipeline `meters` with so many rows landed, which one batch takes."""
    write_project(
        home,
        {"conf/pipelines/meters.yml": READINGS, "expectations/meters/silver.readings.yml": READING_RULES},
    )
    folder = home / "landing" / "readings"
    folder.mkdir(parents=True)
    for start in range(0, rows, LINES_PER_FILE):
        numbers = range(start, min(start + LINES_PER_FILE, rows))
        with open(folder / f"{start}.json", "w", encoding="utf-8") as file:
            file.writelines(
                _line(number, district.format(number % 40), kwh.format(number % 997)) for number in numbers
            )


def set_aside(home: Path) -> tuple[int, int]:
    """How many rows are in quarantine, and how many of them with both reasons."""
    reasons = (
        DeltaTable(home / "lake/meters/quarantine/silver.readings")
        .to_pyarrow_table(columns=["reasons"])
        .column("reasons")
    )
    return len(reasons), pc.sum(pc.equal(pc.list_value_length(reasons), 2)).as_py()


def _line(number: int, district: str, kwh: str) -> str:
    at = f"2024-05-{number % 28 + 1:02d}T{number % 24:02d}:00:00Z"
    return f'{{"id":{number},"district":"{district}","at":"{at}","kwh":{kwh}}}\n'
