"""Tables made by a SQL file or a Python function from other tables, recomputed as a whole when one of these
moves.
"""

import importlib.util
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.hooks import calling
from spark_jobs.config.sql_views import with_views
from spark_jobs.lake.queries import refuse_clocks_in_query, refuse_floating_sums_in_query, run_query


def compute_sql(
    spark: SparkSession, sql: str, inputs: dict[str, DataFrame], processed_at: datetime
) -> DataFrame:
    """Run the SELECT with each `silver.x` it names bound to the given frame."""
    views = {name: name.replace(".", "__") for name in inputs}
    for name, frame in inputs.items():
        frame.createOrReplaceTempView(views[name])
    found = run_query(spark, with_views(sql, views))
    refuse_clocks_in_query(found, sql)
    refuse_floating_sums_in_query(found, sql)
    return found.withColumn("_processed_at", F.lit(processed_at))


def compute_python(reference: str, conf: Path, inputs: list[DataFrame], processed_at: datetime) -> DataFrame:
    """Call the function of `hooks/retail.py:build` with the inputs in their order."""
    with calling(reference):
        result = load_hook(reference, conf)(*inputs)
    if not isinstance(result, DataFrame):
        raise TypeError(f"{reference} returned {type(result).__name__}; it must return a DataFrame")
    return result.withColumn("_processed_at", F.lit(processed_at))


def load_hook(reference: str, conf: Path) -> Callable[..., Any]:
    """The function or class of `hooks/retail.py:build`."""
    file, _, name = reference.partition(":")
    spec = importlib.util.spec_from_file_location(f"weir_hook_{Path(file).stem}", conf / file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{conf / file} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    with calling(reference):
        spec.loader.exec_module(module)
    hook: Callable[..., Any] = getattr(module, name)
    return hook
