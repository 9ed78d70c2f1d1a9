"""Arrays and structs are taken whole where that changes nothing, and part by part elsewhere: both ways must
give the same value.
"""

import json
from itertools import product

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.silver.nested import fit_nested, fit_parts, nested_in_text

pytestmark = pytest.mark.spark

LEAVES = (
    *(
        "0",
        "-0",
        "7",
        "7.0",
        "7.5",
        "-7",
        "70e-1",
        "7e0",
        "1e3",
        "1.10",
        "1.005",
        "0.00",
        "-0.0",
        "128",
        "2147483648",
        "99999999.99",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "9007199254740993e0",
        "1e400",
        "1e-400",
        "123456789012345678901234567890123456789",
    ),
    *(
        "null",
        "true",
        "false",
        '"true"',
        '"7"',
        '" 7 "',
        '"7.5"',
        '"1.005"',
        '"1e3"',
        '"x"',
        '""',
        '"null"',
        '"1.10"',
        '"\\u00e4\\n\\"\\\\"',
    ),
    *("[]", "[7]", "{}", '{"a":7}', '"2024-01-01T00:00:00Z"', '"2024-01-01"'),
)
SCALARS = (
    "string",
    "tinyint",
    "int",
    "bigint",
    "decimal(10,2)",
    "decimal(38,10)",
    "boolean",
    "double",
    "timestamp",
    "date",
)
SHAPES = ("[{0}]", "[{0},{0}]", "[null,{0}]", "{0}", '{{"0":{0}}}')
OBJECTS = (
    *(
        '{{"a":{0},"b":"x"}}',
        '{{"b":"x","a":{0}}}',
        '{{"a":{0}}}',
        '{{"a":{0},"b":null,"c":1}}',
        '{{"A":{0},"b":"x"}}',
        '{{"a":{0},"A":{0}}}',
    ),
    *("{{}}", "null", "{0}", '[{{"a":{0},"b":"x"}}]'),
)


@pytest.mark.parametrize("kind", ["array<{0}>", "struct<a:{0},b:string>", "array<struct<a:{0},b:string>>"])
def test_a_value_taken_whole_is_the_value_taken_part_by_part(lenient: SparkSession, kind: str) -> None:
    shapes = SHAPES if kind == "array<{0}>" else OBJECTS
    found = [shape.format(leaf) for shape, leaf in product(shapes, LEAVES)]
    texts = (
        [f"[{text}]" for text in found] + [f"[{text},{text}]" for text in found]
        if kind.startswith("array<struct")
        else found
    )
    values = lenient.createDataFrame([(text,) for text in texts], "text string").select(
        "*", nested_in_text(F.col("text")).alias("value")
    )
    value, record = F.col("value"), F.concat(F.lit('{"v":'), F.col("text"), F.lit("}"))

    differ = [
        F.when(~fit_nested(value, one, record).eqNullSafe(fit_parts(value, one, record)), F.lit(one))
        for one in map(kind.format, SCALARS)
    ]
    other = (
        values.select("text", F.array_compact(F.array(*differ)).alias("kinds"))
        .where(F.size("kinds") > 0)
        .collect()
    )

    assert other == []


def test_most_values_are_taken_whole(lenient: SparkSession) -> None:
    """Else the quick way would be there for nothing."""
    kind = "array<struct<sku:string,quantity:int,price:decimal(10,2)>>"
    text = json.dumps([{"sku": "a", "quantity": 2, "price": 1.1}, {"sku": 'ü"', "quantity": 0, "price": 10}])
    rows = lenient.createDataFrame([(text,)], "text string").select(
        nested_in_text(F.col("text")).alias("value")
    )
    quick = F.try_variant_get("value", "$", kind)

    same = rows.select(F.to_variant_object(quick).cast("string") == F.col("value").cast("string")).first()

    assert same == (True,)
