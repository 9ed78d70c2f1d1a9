"""The columns that the checks know are those that the engine writes."""

from pathlib import Path

import sqlglot
from sqlglot import exp

from spark_jobs.config import load_project
from spark_jobs.config.columns import aggregate_columns, dimension_columns, silver_columns
from spark_jobs.config.document import read_document
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.silver.fact_table import dimension_ddl, silver_ddl

ROOT = Path(__file__).resolve().parents[2]

CLICKS = """\
pipeline: clicks
sources: {clicks: {format: json, path: clicks}}
silver:
  clicks: {from: clicks, columns: {page: string, clicked_at: timestamp}, event_time: clicked_at}
gold:
  per_hour: {from: silver.clicks, window: {size: 1 hour}, group_by: page, measures: {click_count: count(*)}}
  in_all: {from: silver.clicks, measures: {click_count: count(*)}}
"""


def clicks(text: str, folder: Path) -> Pipeline:
    file = folder / "clicks.yml"
    file.write_text(text, encoding="utf-8")
    return Pipeline.model_validate(read_document(file, file.name).data)


def names(ddl: str) -> set[str]:
    table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect="spark")
    return {column.name for column in table.this.expressions if isinstance(column, exp.ColumnDef)}


def test_silver_tables_have_the_columns_that_expressions_may_name() -> None:
    for pipeline in load_project(ROOT, {}).pipelines.values():
        for name in pipeline.silver:
            assert set(silver_columns(pipeline, name)) == names(silver_ddl(pipeline, name))


def test_dimensions_have_the_columns_that_sql_may_name() -> None:
    retail = load_project(ROOT, {}).pipelines["retail"]
    for name in retail.dimensions:
        assert set(dimension_columns(retail, name)) == names(dimension_ddl(retail, name))


def test_silver_tables_say_what_had_been_seen_where_a_gold_table_has_a_watermark(tmp_path: Path) -> None:
    plain = silver_columns(clicks(CLICKS, tmp_path), "clicks")
    watermarked = silver_columns(
        clicks(CLICKS.replace("size: 1 hour}", "size: 1 hour}, watermark: 1 hour"), tmp_path), "clicks"
    )

    assert watermarked == plain | {"_seen_until": "timestamp", "_closed_until": "timestamp"}
    assert watermarked.keys() - plain.keys() == {"_seen_until", "_closed_until"}


def test_gold_tables_made_by_from_count_their_rows_and_with_a_watermark_their_revisions(
    tmp_path: Path,
) -> None:
    pipeline = clicks(CLICKS.replace("size: 1 hour}", "size: 1 hour}, watermark: 1 hour"), tmp_path)
    system = {"_row_count": "bigint", "_processed_at": "timestamp"}
    window = {"window_start": "timestamp", "window_end": "timestamp"}

    per_hour, in_all = (aggregate_columns(pipeline, pipeline.gold[name]) for name in ("per_hour", "in_all"))

    assert per_hour == window | {"page": "string", "click_count": "unknown", "_revision": "int"} | system
    assert in_all == {"click_count": "unknown"} | system
