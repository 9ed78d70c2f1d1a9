"""From bronze records to typed columns. What enters: bronze rows. What leaves: one row per record (or per
element of `explode`) with the declared columns, `_reasons` (why it cannot be published: empty for a good
row), `_is_sound` (it fits its columns, whatever the rules say of it), `_is_filtered`, `_is_delete`, where it
came from (`_element`: its position in an exploded record of `_elements`, from 1; else 0), and for a bad row
its text: sorting and keeping the text of every good row would double the work of a load.

Scalars are taken as text and then fitted, so that a value that does not fit is named with its column, and
JSON and CSV follow one rule.
"""

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from spark_jobs.config.expectations import Rule
from spark_jobs.config.names import ROW_ORIGINS
from spark_jobs.config.silver import Columns
from spark_jobs.config.sql import computing_steps
from spark_jobs.config.types import is_complex
from spark_jobs.silver.decoding import PLACE, Decoding
from spark_jobs.silver.extract import extract_record
from spark_jobs.silver.fitting import FLOATING, fit_text
from spark_jobs.silver.nested import fit_nested, may_be_taken_whole, take_whole
from spark_jobs.silver.reasons import DELETE_WHEN, WHERE, all_reasons, broken_reasons, conditions_of, holds
from spark_jobs.silver.strict_sql import (
    VALUE,
    CannotHold,
    between_bounds,
    fit_value,
    has_failed,
    keeps_digits,
    value_of,
    with_results,
)


def decode(records: DataFrame, how: Decoding, rules: Sequence[Rule] = ()) -> DataFrame:
    """Typed rows with the reasons against them: what does not fit its column, and the rules that the row does
    not meet.
    """
    readable = records.where(F.col("_line") > 0)  # line 0 stands for a file that could not be read: no record
    texts = _with_whole(extract_record(readable.withColumnRenamed("record", "_record"), how), how)
    typed = _with_texts(
        texts.select("*", *_typed_columns(how), broken_reasons().alias("_broken_reasons")), how
    )
    judged = with_results(_with_computed(typed, how), conditions_of(how, rules))
    is_good = F.size("_reasons") == 0
    is_dropped = ~holds(WHERE) & ~has_failed(WHERE) if how.where else F.lit(False)
    is_delete = holds(DELETE_WHEN) if how.delete_when else F.lit(False)
    return (
        judged.withColumn("_is_delete", is_delete & F.col("_has_element") & (F.size("_broken_reasons") == 0))
        .withColumn("_is_dropped", (is_dropped & ~F.col("_is_delete")) | ~F.col("_has_element"))
        .withColumn("_reasons", all_reasons(how, rules))
        .withColumn("_is_sound", (F.size(all_reasons(how, ())) == 0) if rules else is_good)
        .withColumn("_is_filtered", is_good & F.col("_is_dropped"))
        .withColumn("_record", F.when(~is_good, F.col("_record")))
        .select(
            *how.columns,
            "_reasons",
            "_is_sound",
            "_is_filtered",
            "_is_delete",
            "_record",
            "_element",
            "_elements",
            *PLACE,
        )
    )


def _with_whole(texts: DataFrame, how: Decoding) -> DataFrame:
    """Adds `_whole_<column>` of nested values, in a step of its own: within an expression that asks twice
    Spark would compute it twice.
    """
    kinds = {
        name: c.type
        for name, c in how.columns.items()
        if not c.sql and is_complex(c.type) and may_be_taken_whole(c.type)
    }
    return texts.select(
        "*",
        *(take_whole(F.col(f"_value_{name}"), kind).alias(f"_whole_{name}") for name, kind in kinds.items()),
    )


def _typed_columns(how: Decoding) -> list[Column]:
    origins = {name: origin for name, origin in how.origins.items() if origin in ROW_ORIGINS}
    return [
        (F.col(origins[name]) if name in origins else _fit(name, c.type)).alias(name)
        for name, c in how.columns.items()
        if not c.sql
    ]


def _with_texts(typed: DataFrame, how: Decoding) -> DataFrame:
    """Adds `_text_<column>` of nested values that did not fit: to write out all those that do takes as long
    as to read them.
    """
    missing = [
        name
        for name, c in how.columns.items()
        if is_complex(c.type) and f"_text_{name}" not in typed.columns and not c.sql
    ]
    texts = (
        F.when(F.col(name).isNull(), F.col(f"_value_{name}").cast("string")).alias(f"_text_{name}")
        for name in missing
    )
    return typed.select("*", *texts)


def _fit(name: str, kind: str) -> Column:
    if is_complex(kind):
        whole = F.col(f"_whole_{name}") if may_be_taken_whole(kind) else None
        return fit_nested(F.col(f"_value_{name}"), kind, F.col("_record"), whole)
    return fit_text(F.col(f"_text_{name}"), kind)


def _with_computed(typed: DataFrame, how: Decoding) -> DataFrame:
    """Adds the columns with SQL, each after those that it names, and for each its result under
    `_sql_<column>`. A value that its column could not hold is NULL for the others.
    """
    computed = {name: c for name, c in how.columns.items() if c.sql}
    for step in computing_steps({name: str(c.sql) for name, c in computed.items()}):
        typed = _compute_together(typed, {name: computed[name] for name in step})
    return typed


def _compute_together(typed: DataFrame, computed: Columns) -> DataFrame:
    """Columns of which none names another of them."""
    results = with_results(typed, {f"_sql_{name}": str(c.sql) for name, c in computed.items()})
    found = {name: results.schema[f"_sql_{name}"].dataType[VALUE].dataType for name in computed}  # type: ignore[index]
    values = {
        name: _fit_result(results, name, found[name], c.type, str(c.sql)).alias(name)
        for name, c in computed.items()
    }
    try:
        return results.select("*", *values.values())
    except AnalysisException:
        for name, value in values.items():
            if not _can_be_made(results, value):
                c = computed[name]
                raise CannotHold(name, str(c.sql), found[name].simpleString(), c.type) from None
        raise


def _fit_result(results: DataFrame, name: str, found: DataType, kind: str, sql: str) -> Column:
    result = f"_sql_{name}"
    value = fit_value(between_bounds(value_of(result), found, sql), found, kind, F.col("_record"))
    is_kept = keeps_digits(results, result) if kind not in FLOATING else None
    return value if is_kept is None else F.when(is_kept, value)


def _can_be_made(rows: DataFrame, value: Column) -> bool:
    """Whether Spark knows a way from one type to the other."""
    try:
        rows.select(value)
    except AnalysisException as error:
        return not str(error.getCondition()).startswith("DATATYPE_MISMATCH.")
    return True
