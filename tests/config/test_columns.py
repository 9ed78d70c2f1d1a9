"""The columns that the checks know are those that the engine writes."""

from pathlib import Path

import sqlglot
from sqlglot import exp

from spark_jobs.config import load_project
from spark_jobs.config.columns import dimension_columns, silver_columns
from spark_jobs.silver.schema import dimension_ddl, silver_ddl

ROOT = Path(__file__).resolve().parents[2]


def names(ddl: str) -> set[str]:
    table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect="spark")
    return {column.name for column in table.this.expressions if isinstance(column, exp.ColumnDef)}


def test_silver_tables_have_the_columns_that_expressions_may_name() -> None:
    for pipeline in load_project(ROOT, {}).pipelines.values():
        for name, silver in pipeline.silver.items():
            assert set(silver_columns(pipeline, silver)) == names(silver_ddl(pipeline, name))


def test_dimensions_have_the_columns_that_sql_may_name() -> None:
    for dimension in load_project(ROOT, {}).pipelines["retail"].dimensions.values():
        assert set(dimension_columns(dimension)) == names(dimension_ddl(dimension))
