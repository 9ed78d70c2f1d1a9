"""What a native table keeps in its state store: read by Spark's own state data source from the checkpoint, as
of the last ended batch.

What leaves: the operators with their stores, how many rows each holds, and some of these rows. Values of
sensitive columns are masked.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.gold import Gold
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import MASK, all_names, sensitive_columns


@dataclass(frozen=True)
class Store:
    """One store of the query: a variable of a state class, a side of a join, or the keys of dedup."""

    name: str
    rows: int
    first: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        return {"store": self.name, "rows": self.rows, "first": list(self.first)}


@dataclass(frozen=True)
class StateOfTable:
    table: str
    operator: str
    batch: int
    partitions: int
    stores: tuple[Store, ...]

    def as_dict(self) -> dict[str, Any]:
        said = {
            "table": self.table,
            "operator": self.operator,
            "batch": self.batch,
            "partitions": self.partitions,
        }
        return {**said, "stores": [store.as_dict() for store in self.stores]}


class UnknownKey(UsageError):
    """A key was asked for that the stores of the table do not have."""

    def __init__(self, names: list[str], known: list[str]) -> None:
        self.names, self.known = names, known
        super().__init__(
            "--key", names[0], f"no store is keyed by {', '.join(names)}", did_you_mean(names[0], known)
        )


def read_state(
    spark: SparkSession,
    pipeline: Pipeline,
    name: str,
    checkpoint: str,
    key: Mapping[str, str],
    rows: int,
    conf: Any = None,
) -> StateOfTable:
    """The state of a native table; with `key` only the rows of that key, whose values are
    compared as text.
    """
    gold = pipeline.gold[name]
    # starts the coordinator of state stores, without which none is read: a session without a stream has none
    # yet
    _ = spark.streams
    operator = spark.read.format("state-metadata").load(checkpoint).orderBy("operatorId").collect()[0]
    hidden = _hidden(pipeline, name, gold, conf)
    stores = tuple(
        _store(frame, store, key, rows, hidden) for store, frame in _frames(spark, checkpoint, gold, operator)
    )
    return StateOfTable(
        f"gold.{name}", operator["operatorName"], operator["maxBatchId"], operator["numPartitions"], stores
    )


def _frames(
    spark: SparkSession, checkpoint: str, gold: Gold, operator: Row
) -> Iterator[tuple[str, DataFrame]]:
    if gold.join:
        for side, names in zip(
            gold.join.sides, (list(gold.join.on), list(gold.join.on.values())), strict=True
        ):
            yield (
                side,
                _named(spark.read.format("statestore").option("joinSide", side).load(checkpoint), names),
            )
    elif gold.state:
        properties = json.loads(operator["operatorProperties"])
        for variable in properties.get("stateVariables", []):
            named = variable if isinstance(variable, dict) else json.loads(variable)
            if not named["stateName"].startswith("$"):
                frame = (
                    spark.read.format("statestore")
                    .option("stateVarName", named["stateName"])
                    .load(checkpoint)
                )
                yield named["stateName"], _named(frame, gold.key or [])
    elif gold.dedup:
        yield "keys", _named(spark.read.format("statestore").load(checkpoint), gold.dedup.on)


def _named(frame: DataFrame, names: list[str]) -> DataFrame:
    """Spark numbers the columns of some keys: here they have the names of the pipeline file, by which they
    are asked for and masked.
    """
    kinds = [field.dataType.simpleString() for field in frame.schema["key"].dataType]  # type: ignore[attr-defined]
    renamed = ",".join(f"`{name}`:{kind}" for name, kind in zip(names, kinds, strict=True))
    return frame.withColumn("key", F.col("key").cast(f"struct<{renamed}>"))


def _store(frame: DataFrame, name: str, key: Mapping[str, str], rows: int, hidden: frozenset[str]) -> Store:
    known = frame.schema["key"].dataType.fieldNames()  # type: ignore[attr-defined]
    if unknown := [column for column in key if column not in known]:
        raise UnknownKey(unknown, known)
    for column, value in key.items():
        frame = frame.where(F.col(f"key.{column}").cast("string") == F.lit(value))
    values = frame.drop("partition_id")
    found = values.orderBy(F.to_json("key")).limit(rows).collect()
    return Store(name, frame.count(), tuple(masked_row(row, hidden) for row in found))


def masked_row(row: Row, hidden: frozenset[str]) -> dict[str, Any]:
    """The key and the value of a store with their columns. What has the name of a sensitive column is masked
    with all that is in it.
    """

    def masked(name: str, value: Any) -> Any:
        if name in hidden and value is not None:
            return MASK
        if isinstance(value, Row):
            return columns_of(value)
        if isinstance(value, dict):
            return {key: masked(name, each) for key, each in value.items()}
        return [masked(name, each) for each in value] if isinstance(value, list) else value

    def columns_of(part: Row) -> dict[str, Any]:
        return {column: masked(column, part[column]) for column in part.__fields__}

    return {
        part: columns_of(row[part]) if isinstance(row[part], Row) else masked(part, row[part])
        for part in row.__fields__
    }


def _hidden(pipeline: Pipeline, name: str, gold: Gold, conf: Any) -> frozenset[str]:
    """A state class may keep anything of its rows: one sensitive column makes all of it so."""
    own = sensitive_columns(pipeline, f"gold.{name}", conf)
    if gold.state:
        return own
    read = [sensitive_columns(pipeline, table, conf) for table, _ in gold.delays]
    return all_names(own, *read)
