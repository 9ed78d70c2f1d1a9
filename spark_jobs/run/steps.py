"""Which step brings a table up to date: one per layer, in the module of its name."""

from typing import Any

from spark_jobs.config.table_name import TableName
from spark_jobs.run.bronze import start_bronze
from spark_jobs.run.context import RunContext
from spark_jobs.run.gold import run_gold
from spark_jobs.run.native import run_native
from spark_jobs.run.silver import judge_emptied, run_dimension, run_silver
from spark_jobs.run.sinks import run_sink


def run_table(run: RunContext, table: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """Bring one table up to date with its inputs. `consumed` is what it has read before."""
    layer, name = TableName(table).parts
    match layer:
        case "bronze":
            start_bronze(run, name).wait()
        case "dimension":
            run_dimension(run, name)
            judge_emptied(run, table)
        case "silver":
            run_silver(run, name, inputs, consumed)
            judge_emptied(run, table)
        case "gold" if run.pipeline.gold[name].is_native:
            run_native(run, name, run.pipeline.gold[name])
        case "gold":
            run_gold(run, name, inputs, consumed)
        case _:
            run_sink(run, name, inputs, consumed)
