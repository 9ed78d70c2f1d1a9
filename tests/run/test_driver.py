"""No step of a run takes more than a few rows to the driver: it asks for counts, however many rows came and
whatever became of them.
"""

import pytest
from pyspark.sql.classic.dataframe import DataFrame

from spark_jobs.lake.small_writes import MOST_ROWS
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

METERS = """
pipeline: meters
sources: {readings: {format: json, path: readings}}
silver:
  readings: {from: readings, columns: {id: bigint, at: timestamp, kwh: int}, key: id, event_time: at}
gold:
  per_hour: {from: silver.readings, window: {size: 1 hour}, measures: {reading_count: count(*), kwh: sum(kwh)}}
"""
RULES = """
expectations:
  kwh_in_range:
    {type: expect_column_values_to_be_between, kwargs: {column: kwh, min_value: 0}, on_fail: quarantine, reason: Nobody gives power back.}
  usual_mean:
    {type: expect_column_mean_to_be_between, kwargs: {column: kwh, max_value: 9}, on_fail: block, reason: Meters count in kWh.}
"""
ROWS = 3 * MOST_ROWS  # two thirds of them are published: more than the driver ever takes to write them itself
FEW = 50


def test_a_run_fetches_counts_and_no_rows(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.write("conf/pipelines/meters.yml", METERS)
    workshop.write("expectations/meters/silver.readings.yml", RULES)
    lines = (
        f'{{"id":{number},"at":"2024-05-01T0{number % 9}:00:00Z","kwh":{number % 3 - 1}}}\n'
        for number in range(ROWS)
    )
    workshop.land("readings/1.json", "".join(lines))
    fetched: dict[str, list[int]] = {"collect": [], "toArrow": [], "toPandas": []}
    for way, sizes in fetched.items():
        monkeypatch.setattr(DataFrame, way, _counting(getattr(DataFrame, way), sizes))
    monkeypatch.setattr(DataFrame, "toLocalIterator", None)

    result = workshop.run("meters")

    assert result.exit_code == 0, result.message
    assert len(workshop.rows("meters.quarantine.silver.readings", "line")) == ROWS // 3
    assert len(fetched["collect"]) > 3, "the spy is asked"
    assert max(size for sizes in fetched.values() for size in sizes) < FEW


def _counting(fetch: object, sizes: list[int]) -> object:
    def counted(*arguments: object, **options: object) -> object:
        found = fetch(*arguments, **options)  # type: ignore[operator]
        sizes.append(len(found))
        return found

    return counted
