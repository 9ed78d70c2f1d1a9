"""The fields of a record's JSON object that columns take. What enters: bronze rows. What leaves: a row per
record, or per element where the table explodes, with the text of each field and what is to say against the
record.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.silver import MOST_EXPLODED
from spark_jobs.config.types import is_complex
from spark_jobs.silver.decoding import PLACE, Decoding
from spark_jobs.silver.fitting import FLOATING
from spark_jobs.silver.json_record import (
    HALF_A_CHARACTER,
    LONG_NUMBER,
    OTHER_SHAPE,
    any_of,
    as_array,
    as_object,
    first_of,
    has_doubles,
    has_half_a_character,
    is_one,
    is_there,
    may_be_lost,
    parse_whole,
    repeated_field,
    starts_as_object,
    unreadable_record,
)
from spark_jobs.silver.nested import nested_in_text

Path = tuple[str, ...]

# The fields of a record that no column takes, as the text of a JSON object: what a feed began to send is
# there before it is declared. In Python, because Spark has no function that takes fields out of an object at
# any depth.

NUMBER = "\ue000"
"""Before a number with a point or exponent while a record is taken apart: so it comes out digit by digit as
it went in.
"""


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


ROOT: Path = ()
TOO_MANY_ELEMENTS = "it has too many elements for its length: send it as several records"


def extract_fields(records: DataFrame, how: Decoding) -> DataFrame:
    """Adds `_text_<column>`, `_value_<column>`, `_wrong`, `_lost`, `_has_element` and the place of the row:
    see decode.
    """
    parsed = records.withColumn("_parsed", parse_whole(F.col("_record")))
    rows = parsed.select("_record", "_problem", *PLACE, "_parsed", first_of(F.col("_parsed")).alias("_root"))
    opened, array = {ROOT: "_root"}, how.explode_path
    rows, misshaped = _open(rows, _objects_outside(how), opened, array)
    if array is None:
        rows = rows.select(
            "*", _wrong(how, opened, misshaped).alias("_wrong"), F.lit(True).alias("_has_element"), *alone()
        )
        return _with_leaves(rows, how, opened)
    items, inside = F.col(opened[array[:-1]]).getItem(array[-1]), _objects_inside(how, array)
    rows = rows.withColumn("_items", as_array(items))
    misshaped.append(is_there(items) & F.col("_items").isNull())
    if inside:
        misshaped.append(F.exists("_items", lambda item: is_there(item) & as_object(item).isNull()))
    rows = _explode(rows.withColumn("_wrong", F.coalesce(_wrong(how, opened, misshaped), _too_many())))
    rows, misshaped = _open(rows, inside, opened, array)
    if inside:
        said = _repeated(how, {path: opened[path] for path in inside})
        rows = rows.withColumn(
            "_wrong", F.coalesce("_wrong", said, F.when(any_of(misshaped), F.lit(OTHER_SHAPE)))
        )
    return _with_leaves(rows, how, opened)


def alone() -> list[Column]:
    """The place of a record that is one row."""
    return [F.lit(0).alias("_element"), F.lit(1).alias("_elements")]


def nothing_lost() -> Column:
    return F.lit(None).cast("array<string>").alias("_lost")


def _objects_outside(how: Decoding) -> list[Path]:
    """The objects on the way to the fields that columns take, outermost first, without those in elements of
    the exploded array.
    """
    array = how.explode_path
    paths = [*_taken(how), *([array] if array else [])]
    found = {path[:length] for path in paths for length in range(1, len(path))}
    return sorted((path for path in found if not array or path[: len(array)] != array), key=len)


def _objects_inside(how: Decoding, array: Path) -> list[Path]:
    """The elements of the array, where columns take fields of them, and the objects within."""
    below = [path for path in _taken(how) if path[: len(array)] == array]
    return sorted({path[:length] for path in below for length in range(len(array), len(path))}, key=len)


def _taken(how: Decoding) -> list[Path]:
    return [how.path_of(name) for name in how.in_record]


def _open(
    rows: DataFrame, objects: Iterable[Path], opened: dict[Path, str], array: Path | None
) -> tuple[DataFrame, list[Column]]:
    """Adds a map for each of the objects, whose column goes to `opened`; and when a value is there that is no
    object.
    """
    misshaped = []
    for path in objects:
        value, opened[path] = _value_at(path, opened, array), f"_object_{len(opened)}"
        rows = rows.withColumn(opened[path], as_object(value))
        misshaped.append(is_there(value) & F.col(opened[path]).isNull())
    return rows, misshaped


def _value_at(path: Path, opened: Mapping[Path, str], array: Path | None) -> Column:
    return F.col("_item") if path == array else F.col(opened[path[:-1]]).getItem(path[-1])


def _wrong(how: Decoding, opened: Mapping[Path, str], misshaped: Iterable[Column]) -> Column:
    """NULL for a record that is one JSON object of the expected shape, and says each thing once; and where
    bronze has a problem with it.
    """
    record = F.col("_record")
    is_object = is_one(F.col("_parsed")) & starts_as_object(record)
    said = F.when(has_half_a_character(record), F.lit(HALF_A_CHARACTER)).when(
        ~is_object, unreadable_record(record)
    )
    is_misshaped = F.coalesce(any_of(misshaped), F.lit(False))
    said = F.coalesce(said, _repeated(how, opened), F.when(is_misshaped, F.lit(OTHER_SHAPE)))
    return F.when(F.col("_problem").isNull(), said)


def _too_many() -> Column:
    work = F.size("_items").cast("bigint") * F.octet_length("_record")
    return F.when(work > MOST_EXPLODED, F.lit(TOO_MANY_ELEMENTS))


def _repeated(how: Decoding, opened: Mapping[Path, str]) -> Column:
    """What to say of a field that one of the objects has twice."""
    paths = [*_taken(how), *([how.explode_path] if how.explode_path else [])]
    names = {
        above: [path[len(above)] for path in paths if path[: len(above)] == above and len(path) > len(above)]
        for above in opened
    }
    return F.coalesce(*(repeated_field(F.col(column), names[above]) for above, column in opened.items()))


def _explode(rows: DataFrame) -> DataFrame:
    """One row per element; one in all for a record that has none, or is wrong as a whole."""
    array = F.when(F.col("_wrong").isNull(), F.col("_items"))
    count = F.greatest(F.coalesce(F.size(array), F.lit(0)), F.lit(0))
    has_element = F.col("_problem").isNotNull() | F.col("_wrong").isNotNull() | (count > 0)
    sized = rows.select(
        "*", has_element.alias("_has_element"), F.greatest(count, F.lit(1)).alias("_elements")
    )
    elements = sized.select("*", F.posexplode_outer(array).alias("_position", "_item"))
    return elements.withColumn("_element", F.coalesce(F.col("_position") + 1, F.lit(1)))


def _with_leaves(rows: DataFrame, how: Decoding, opened: Mapping[Path, str]) -> DataFrame:
    record, is_csv = F.col("_record"), how.source_format == "csv"
    kinds = {name: how.columns[name].type for name in how.in_record}
    values = {name: _value_at(how.path_of(name), opened, how.explode_path) for name in kinds}
    texts = {
        name: F.nullif(value.cast("string"), F.lit("")) if is_csv else value.cast("string")
        for name, value in values.items()
    }
    deep = [name for name in kinds if is_complex(kinds[name])]
    nested = [
        (nested_in_text(texts[name]) if is_csv else values[name]).alias(f"_value_{name}") for name in deep
    ]
    rest = [
        rest_of(record, how.taken_paths).alias(f"_text_{name}")
        for name, column in how.columns.items()
        if column.rest
    ]
    lost = (
        nothing_lost() if is_csv else _lost({name: values[name] for name in kinds if name not in deep}, kinds)
    )
    kept = ("_record", "_problem", *PLACE, "_wrong", "_has_element", "_element", "_elements")
    written_out = [text.alias(f"_text_{name}") for name, text in texts.items() if name not in deep or is_csv]
    return rows.select(*kept, *written_out, *nested, *rest, lost)


def _lost(values: Mapping[str, Column], kinds: Mapping[str, str]) -> Column:
    """The columns whose number lost digits on its way (see is_lost): NULL for nearly every row."""
    if not values:
        return nothing_lost()
    may_be = {
        name: may_be_lost(value.cast("string"), is_floating=kinds[name] in FLOATING)
        for name, value in values.items()
    }
    named = F.array_compact(
        F.array(*(F.when(may_be[name] & has_doubles(value), F.lit(name)) for name, value in values.items()))
    )
    # The whole record is searched and types are asked for only where a text looks like it, and once for all
    # columns.
    return F.when(any_of(may_be.values()) & F.col("_record").rlike(LONG_NUMBER), named).alias("_lost")
