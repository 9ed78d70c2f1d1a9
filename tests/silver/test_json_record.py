"""What is asked of most records in a quick way must be answered as by the whole question."""

from itertools import combinations_with_replacement
from re import _parser as parser  # type: ignore[attr-defined]

import pytest
from pydantic import TypeAdapter
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.going_back import ENDLESS, ways_through
from spark_jobs.config.silver import Columns
from spark_jobs.silver.decoding import PLACE, Decoding
from spark_jobs.silver.fields import extract_fields
from spark_jobs.silver.fitting import FLOATING
from spark_jobs.silver.json_record import COUNTS, FAULTS, FIELD_TWICE, is_lost, repeated_field

pytestmark = pytest.mark.spark

NAMES = (
    "a",
    "A",
    "b",
    "a b",
    "id",
    "ID",
    "İd",
    "i̇d",
    "k",
    "\u212a",
    "σ",
    "ς",
    "Σ",
    "[",
    "{",
    "@",
    "Z",
    "z",
    "\n",
    "",
)
NUMBERS = (
    "7",
    "7.5",
    "75e-1",
    "1e-400",
    "-1e400",
    "0e0",
    "7.50000000000000000001e0",
    "9007199254740993e0",
    f"{'9' * 40}.5",
    '"7.5"',
    "null",
    "{}",
)
KINDS = ("string", "bigint", "decimal(12,2)", "double")


def test_names_are_the_same_without_case_as_when_each_is_compared(lenient: SparkSession) -> None:
    objects = [list(names) for names in combinations_with_replacement(NAMES, 2)] + [
        [],
        ["a", "b", "k", "z"],
        ["a", "B", "b", "Z"],
    ]
    rows = lenient.createDataFrame([(names,) for names in objects], "names array<string>")
    # As a parser does: a map of Spark's own would refuse a name that is there twice.
    texts = F.concat(
        F.lit("{"),
        F.array_join(F.transform("names", lambda name: F.concat(_quoted(name), F.lit(":0"))), ","),
        F.lit("}"),
    )
    fields = rows.select("names", F.from_json(texts, "map<string,int>").alias("fields"))

    lower = F.transform("names", F.lower).alias("lower")
    found = fields.select("names", lower, repeated_field(F.col("fields"), ["a"]).alias("said")).collect()

    assert [row for row in found if row["said"] != _expected(row["names"], row["lower"])] == []
    assert {row["said"] for row in found} > {None, FIELD_TWICE}


def test_the_numbers_that_lost_digits_are_those_of_each_column_alone(lenient: SparkSession) -> None:
    records = [f'{{"c0":{one},"c1":{one},"c2":{other},"c3":{other}}}' for one in NUMBERS for other in NUMBERS]
    columns = TypeAdapter(Columns).validate_python({f"c{number}": kind for number, kind in enumerate(KINDS)})
    bronze = lenient.createDataFrame([(text, None) for text in records], "_record string, _problem string")
    rows = extract_fields(
        bronze.withColumns({name: F.lit(None) for name in PLACE}), Decoding("json", columns)
    )
    values = F.from_json("_record", "map<string,variant>")
    alone = {
        name: is_lost(values[name], F.col("_record"), is_floating=column.type in FLOATING)
        for name, column in columns.items()
    }
    named = F.array_compact(F.array(*(F.when(is_so, F.lit(name)) for name, is_so in alone.items())))

    found = rows.select(
        "_record", F.coalesce("_lost", F.array()).alias("together"), named.alias("alone")
    ).collect()

    assert [row for row in found if row["together"] != row["alone"]] == []
    assert any(row["alone"] for row in found)


def _quoted(name: Column) -> Column:
    return F.concat(F.lit('"'), F.replace(name, F.lit("\n"), F.lit("\\n")), F.lit('"'))


def _expected(names: list[str], lower: list[str]) -> str | None:
    if lower.count("a") > 1:
        return "the record has several fields 'a' (names are compared without case)"
    return FIELD_TWICE if len(set(names)) < len(names) else None


def test_what_is_wrong_with_a_record_is_found_in_time_proportional_to_it() -> None:
    """A record is as long as its sender likes: no pattern may go through a part of it once for each place in
    it.
    """
    going_back = [pattern for of, pattern, _ in FAULTS if of != COUNTS and ways_back(pattern) >= ENDLESS]

    assert going_back == []


def ways_back(pattern: str) -> int:
    return ways_through(list(parser.parse(pattern.replace(r"\x{FEFF}", "x"))))
