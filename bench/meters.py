"""A pipeline of three tables, one per layer, for what does not depend on much: readings by key, then sums per
hour and district.
"""

from datetime import UTC, datetime, timedelta

START = datetime(2024, 5, 1, tzinfo=UTC)
TABLES = ("bronze/readings", "silver/readings", "gold/per_hour")
PIPELINE = """
pipeline: meters
sources: {readings: {format: json, path: readings}}
silver:
  readings:
    from: readings
    columns: {id: bigint, district: string, at: timestamp, version: int, kwh: "decimal(9,3)"}
    key: id
    sequence_by: version
    event_time: at
gold:
  per_hour:
    from: silver.readings
    window: {size: 1 hour}
    group_by: district
    measures: {reading_count: count(*), kwh: sum(kwh)}
    watermark: 2 hours
"""


def reading(number: int, after_start: timedelta, version: int = 1) -> str:
    """A line of about 100 bytes."""
    at = START + after_start
    kwh = (number + version) % 997 / 100
    return f'{{"id":{number},"district":"d{number % 40}","at":"{at:%Y-%m-%dT%H:%M:%S.%fZ}","version":{version},"kwh":{kwh}}}\n'
