"""The fields of a record that no column takes, as the text of a JSON object: what a feed began to send is there before it is declared.

In Python, because Spark has no function that takes fields out of an object at any depth.
"""

import json
import re
from collections.abc import Collection
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

Path = tuple[str, ...]
NUMBER = "\ue000"
"""Before a number with a point or exponent while a record is taken apart: so it comes out digit by digit as it went in."""


def rest_of(record: Column, taken: Collection[Path]) -> Column:
    """NULL where columns take all that the record says."""
    paths = sorted(taken)

    def extract(records: pa.Array) -> pa.Array:
        return pa.array([_rest_of_text(text, paths) for text in records.to_pylist()], pa.string())

    rest: Column = F.arrow_udf(extract, "string")(record)  # type: ignore[attr-defined]
    return rest


def _rest_of_text(text: str | None, paths: Collection[Path]) -> str | None:
    text = text or ""
    is_marked = NUMBER not in text and "\\ue000" not in text.lower()
    try:
        record = json.loads(text, parse_float=_keep) if is_marked else json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    for path in paths:
        _remove(record, path)
    rest = json.dumps(record, ensure_ascii=False, sort_keys=True) if record else None
    return re.sub(f'"{NUMBER}([^"]*)"', r"\1", rest) if rest and is_marked else rest


def _keep(number: str) -> str:
    return f"{NUMBER}{number}"


def _remove(value: Any, path: Path) -> None:
    """Take the field out, and the objects around it that have nothing else."""
    if not isinstance(value, dict) or path[0] not in value:
        return
    inner = value[path[0]]
    if len(path) > 1 and isinstance(inner, dict) and inner:
        _remove(inner, path[1:])
        if inner:
            return
    del value[path[0]]
