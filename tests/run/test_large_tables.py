"""A small run over large tables: what reads all rows of one is compiled, the rest is not."""

import pytest
from pyspark.sql import SparkSession

from spark_jobs.run import context
from spark_jobs.run.context import RunContext
from spark_jobs.session.settings import COMPILED
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: log
sources: {lines: {format: json, path: lines}}
silver: {lines: {from: lines, columns: {n: bigint, at: timestamp}, event_time: at}}
gold:
  per_hour: {from: silver.lines, window: {size: 1 hour}, measures: {total: sum(n)}}
  in_all: {from: silver.lines, emit: complete, measures: {total: sum(n)}}
"""
LINES = '{"n": 1, "at": "2026-03-01T08:00:00Z"}\n{"n": 2, "at": "2026-03-01T08:30:00Z"}\n'


@pytest.mark.parametrize(("many_rows", "compiled"), [(2, 0), (1, 2)])
def test_gold_over_a_large_silver_table_is_compiled(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, many_rows: int, compiled: int
) -> None:
    tuned: list[dict[str, str]] = []
    tune = RunContext.tune

    def note(run: RunContext, session: SparkSession, settings: dict[str, str]) -> None:
        tuned.append(settings)
        tune(run, session, settings)

    monkeypatch.setattr(RunContext, "tune", note)
    monkeypatch.setattr(context, "MANY_ROWS", many_rows)
    workshop.write("conf/pipelines/log.yml", PIPELINE)
    workshop.land("lines/1.json", LINES)

    result = workshop.run("log")

    assert result.exit_code == 0, result.message
    assert sum(settings.items() >= COMPILED.items() for settings in tuned) == compiled
    assert workshop.rows("log.gold.per_hour", "total") == [(3,)]
    assert workshop.rows("log.gold.in_all", "total") == [(3,)]
