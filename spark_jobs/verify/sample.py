"""Some records of each table, decoded once more in plain Python and compared with what the engine's decoding
gives.

The recomputation shares the decoding with the engine, so both would bend a value alike. Which records are
looked at depends on their places alone: the same lake has the same sample.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.config.path_template import PATH_PART, is_part
from spark_jobs.config.sensitive import MASK
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.verify.plain import (
    MISFIT,
    UNSURE,
    BrokenRecordError,
    PlainTable,
    UnsureRecordError,
    decode_plain,
    plain_part,
)
from spark_jobs.verify.recompute import Recomputation
from spark_jobs.verify.result import shown
from spark_jobs.verify.rows import FILTERED, QUARANTINED

RECORDS = 200
ELEMENTS = 20
LONGEST_RECORD = 64 * 1024
PLACE = ("_file_id", "_line")


@dataclass(frozen=True)
class Sampled:
    """How many records were decoded twice, what is different, and what was left out."""

    records: int
    differences: tuple[str, ...]
    left_out: tuple[str, ...]


def decode_sample(again: Recomputation, table: str, hidden: Collection[str]) -> Sampled:
    """The sample of a dimension or silver table; the values of `hidden` columns are masked."""
    layer, name = TableName(table).parts
    definition: Dimension | Silver = (
        again.pipeline.dimensions[name] if layer == "dimension" else again.pipeline.silver[name]
    )
    explode = definition.explode if isinstance(definition, Silver) else None
    deletes = definition.delete_when is not None
    source = again.pipeline.sources[definition.from_]
    plain = PlainTable(source.record_format, definition.columns, explode, source)
    picked = _pick(again.standing.records(definition.from_))
    decoded = _decoded(again.judged(table), picked, plain) if picked else {}
    differences, unsure = list[str](), Counter[tuple[str, str]]()
    for record in picked:
        where = f"{record['_file']!r} line {record['_line']}"
        rows = decoded.get((record["_file_id"], record["_line"]), {})
        for column, said, found in _compare(record, rows, plain, unsure, must_be_aside=not deletes):
            values = (MASK if column in hidden else said, MASK if column in hidden else found)
            differences.append(f"{where}: {column}: decoded {values[0]}, in plain Python {values[1]}")
    never = [f"{column} ({why})" for column in plain.columns if (why := plain.why_not(column))]
    some = [f"{count(number, what)}{of}" for (what, of), number in sorted(unsure.items())]
    return Sampled(len(picked), tuple(differences), (*never, *some))


def _pick(records: DataFrame) -> list[Row]:
    """By a hash of their places, so that all files have a part in it."""
    short = records.where((F.col("_line") > 0) & (F.length("record") <= LONGEST_RECORD))
    in_order = short.orderBy(F.xxhash64(*PLACE), *PLACE).limit(RECORDS)
    times = (F.unix_micros(name).alias(name) for name in ("_arrived_at", "_file_modified_at"))
    return in_order.select(*PLACE, "_file", "record", "_problem", *times).collect()


def _decoded(
    judged: DataFrame, picked: list[Row], plain: PlainTable
) -> dict[tuple[str, int], dict[int, Row]]:
    """What the engine's decoding gives for these records: by place and number of the element, as values that
    Python knows.
    """
    rows = [tuple(record[name] for name in PLACE) for record in picked]
    places = judged.sparkSession.createDataFrame(rows, "_file_id string, _line bigint")
    mine = judged.join(F.broadcast(places), on=list(PLACE), how="left_semi").where(
        F.col("_element") <= ELEMENTS
    )
    found: dict[tuple[str, int], dict[int, Row]] = {}
    for row in mine.select(
        *PLACE, "_element", "_class", *(_as_python(name, plain) for name in plain.judged)
    ).collect():
        found.setdefault((row["_file_id"], row["_line"]), {})[row["_element"]] = row
    return found


def _as_python(name: str, plain: PlainTable) -> Column:
    """Times may lie outside of Python's years."""
    kind, value = plain.columns[name].type, F.col(f"`{name}`")
    return (
        F.unix_micros(value) if kind == "timestamp" else value.cast("string") if kind == "date" else value
    ).alias(f"c_{name}")


def _compare(
    record: Row,
    rows: dict[int, Row],
    plain: PlainTable,
    unsure: Counter[tuple[str, str]],
    *,
    must_be_aside: bool,
) -> Iterator[tuple[str, str, str]]:
    """Column, what the engine has and what it should be, for each value that is not the same."""
    if plain.is_passed_over(record["_line"], record["record"]):
        yield from (
            ("the record", row["_class"], FILTERED) for row in rows.values() if row["_class"] != FILTERED
        )
        return
    try:
        if record["_problem"] is not None:
            raise BrokenRecordError
        expected = decode_plain(record["record"], plain)
        origins = _origins_of(record, plain) if expected else {}
    except UnsureRecordError:
        unsure["record", ""] += 1
        return
    except BrokenRecordError:
        yield from (
            ("the record", row["_class"], QUARANTINED)
            for row in rows.values()
            if row["_class"] != QUARANTINED
        )
        return
    for number, of_record in expected.items():
        if number > ELEMENTS:
            return
        values = of_record | origins
        if number not in rows:
            yield "the record", "nothing", "a row"
            continue
        yield from _compare_values(rows[number], values, plain, unsure)
        is_misfit = any(value is MISFIT for value in values.values())
        if is_misfit and must_be_aside and rows[number]["_class"] != QUARANTINED:
            yield "the record", rows[number]["_class"], QUARANTINED


def _origins_of(record: Row, plain: PlainTable) -> dict[str, Any]:
    """What columns take of where the record came from."""
    origins, values = plain.origins, dict[str, Any]()
    parts = plain.parts_of_path(record["_file"]) if any(map(is_part, origins.values())) else {}
    for name, origin in origins.items():
        if not is_part(origin):
            values[name] = record[origin]
        elif plain.why_not(name) is None:
            values[name] = plain_part(parts.get(origin.removeprefix(PATH_PART)), plain.columns[name].type)
    return values


def _compare_values(
    row: Row, values: Mapping[str, Any], plain: PlainTable, unsure: Counter[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    for name, value in values.items():
        found = row[f"c_{name}"]
        if value is UNSURE:
            unsure["value", f" of {name}"] += 1
        elif value is MISFIT:
            if found is not None:
                yield name, _shown(found), f"no {plain.columns[name].type}"
        elif found != value:
            yield name, _shown(found), _shown(value)


def _shown(value: Any) -> str:
    return shown(None if value is None else str(value), isinstance(value, str))
