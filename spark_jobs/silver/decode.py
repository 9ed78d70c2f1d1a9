"""From bronze records to typed columns. What enters: bronze rows. What leaves: one row per record (or per
element of `explode`) with the declared columns, `_reasons` (why it cannot be published: empty for a good
row), `_is_sound` (it fits its columns, whatever the rules say of it), `_is_filtered`, `_is_delete`, where it
came from (`_element`: its position in an exploded record of `_elements`, from 1; else 0), and for a bad row
its text: sorting and keeping the text of every good row would double the work of a load.

Scalars are taken as text and then fitted, so that a value that does not fit is named with its column, and
JSON and CSV follow one rule.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import READABLE, Rule
from spark_jobs.config.silver import Columns
from spark_jobs.config.sql import columns_in, computing_steps
from spark_jobs.config.types import is_complex
from spark_jobs.quality.predicates import fails, shown_value
from spark_jobs.silver.decoding import PLACE, Decoding
from spark_jobs.silver.fields import extract_record
from spark_jobs.silver.fitting import fit_text
from spark_jobs.silver.nested import fit_nested, may_be_taken_whole, take_whole
from spark_jobs.silver.strict_sql import (
    VALUE,
    CannotHold,
    between_bounds,
    fit_value,
    has_failed,
    value_of,
    with_results,
)

REASON = "struct<rule:string,column:string,value:string>"
VALUE_LENGTH = 200
WHERE, DELETE_WHEN = "_condition_where", "_condition_delete_when"

Reason = tuple[Column, Column]
"""When it applies, and what it says."""


def decode(records: DataFrame, how: Decoding, rules: Sequence[Rule] = ()) -> DataFrame:
    """Typed rows with the reasons against them: what does not fit its column, and the rules that the row does
    not meet.
    """
    readable = records.where(F.col("_line") > 0)  # line 0 stands for a file that could not be read: no record
    texts = _with_whole(extract_record(readable.withColumnRenamed("record", "_record"), how), how)
    typed = _with_texts(
        texts.select("*", *_typed_columns(how), _broken_reasons().alias("_broken_reasons")), how
    )
    judged = with_results(_with_computed(typed, how), _conditions(how, rules))
    is_good = F.size("_reasons") == 0
    is_dropped = ~_holds(WHERE) & ~has_failed(WHERE) if how.where else F.lit(False)
    is_delete = _holds(DELETE_WHEN) if how.delete_when else F.lit(False)
    return (
        judged.withColumn("_is_delete", is_delete & F.col("_has_element") & (F.size("_broken_reasons") == 0))
        .withColumn("_is_dropped", (is_dropped & ~F.col("_is_delete")) | ~F.col("_has_element"))
        .withColumn("_reasons", _all_reasons(how, rules))
        .withColumn("_is_sound", (F.size(_all_reasons(how, ())) == 0) if rules else is_good)
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
    return [_fit(name, c.type).alias(name) for name, c in how.columns.items() if not c.sql]


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
        name: fit_value(
            between_bounds(value_of(f"_sql_{name}"), found[name], str(c.sql)),
            found[name],
            c.type,
            F.col("_record"),
        ).alias(name)
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


def _can_be_made(rows: DataFrame, value: Column) -> bool:
    """Whether Spark knows a way from one type to the other."""
    try:
        rows.select(value)
    except AnalysisException as error:
        return not str(error.getCondition()).startswith("DATATYPE_MISMATCH.")
    return True


def _conditions(how: Decoding, rules: Sequence[Rule]) -> dict[str, str]:
    asked = {WHERE: how.where, DELETE_WHEN: how.delete_when}
    asked |= {_condition_of(place): rule.kwargs.get("row_condition") for place, rule in enumerate(rules)}
    return {name: sql for name, sql in asked.items() if sql}


def _condition_of(place: int) -> str:
    return f"_condition_{place}"


def _holds(result: str) -> Column:
    return F.coalesce(value_of(result), F.lit(False))


def _broken_reasons() -> Column:
    """What is wrong with the record as a whole: nothing further is asked of such a row."""
    return _present(
        _reason(READABLE, None, F.col("_problem"), when=F.col("_problem").isNotNull()),
        _reason("decodable", None, F.col("_wrong"), when=F.col("_wrong").isNotNull()),
    )


def _all_reasons(how: Decoding, rules: Sequence[Rule]) -> Column:
    reasons: list[Reason] = []
    for name, column in how.columns.items():
        is_asked = F.lit(True) if name in how.identity or not how.delete_when else ~F.col("_is_delete")
        reasons += (
            _against_computed(name, how, is_asked) if column.sql else [_misfit(name, column.type, is_asked)]
        )
        if column.required or name in how.required:
            is_absent = F.col(name).isNull() & F.col(f"_text_{name}").isNull()
            if column.sql:
                is_absent = value_of(f"_sql_{name}").isNull() & ~has_failed(f"_sql_{name}")
            reasons.append(_reason("required", name, F.lit(None), when=is_absent & is_asked))
    if how.event_time:
        reasons += _against_event_time(how, how.event_time)
    reasons += [_unanswered(rule, str(sql), result, how) for result, rule, sql in _asked_conditions(how)]
    reasons += [_unmet(rule, place, how) for place, rule in enumerate(rules)]
    of_row = F.when(F.col("_has_element"), _present(*reasons)).otherwise(_no_reasons())
    return F.when(F.size("_broken_reasons") > 0, F.col("_broken_reasons")).otherwise(of_row)


def _misfit(name: str, kind: str, is_asked: Column) -> Reason:
    text = F.col(f"_text_{name}")
    return _reason(
        f"type {kind}", name, text, when=text.isNotNull() & (F.col(name).isNull() | _is_lost(name)) & is_asked
    )


def _is_lost(name: str) -> Column:
    return F.coalesce(F.array_contains("_lost", name), F.lit(False))


def _against_computed(name: str, how: Decoding, is_asked: Column) -> list[Reason]:
    """That it failed, with what it was computed from; and that its value does not fit its type."""
    column, result = how.columns[name], f"_sql_{name}"
    value, inputs = value_of(result), columns_in(str(column.sql))
    has_misfit = value.isNotNull() & F.col(name).isNull()
    return [
        _reason(
            "sql", name, _shown(inputs), when=has_failed(result) & _are_understood(inputs, how) & is_asked
        ),
        _reason(f"type {column.type}", name, value, when=has_misfit & is_asked),
    ]


def _asked_conditions(how: Decoding) -> list[tuple[str, str, str | None]]:
    asked = [(WHERE, "where", how.where), (DELETE_WHEN, "delete_when", how.delete_when)]
    return [(result, rule, sql) for result, rule, sql in asked if sql]


def _unanswered(rule: str, sql: str, result: str, how: Decoding) -> Reason:
    """A condition that fails on a row: nobody knows whether the row is wanted, or deletes."""
    inputs = columns_in(sql)
    is_asked = _are_understood(inputs, how) & (~F.col("_is_delete") if rule == "where" else F.lit(True))
    return _reason(rule, ", ".join(inputs) or None, _shown(inputs), when=has_failed(result) & is_asked)


def _are_understood(names: Sequence[str], how: Decoding) -> Column:
    """Whether no reason says already that one of these columns has no value, or one of those that they are
    computed from.
    """
    is_understood = F.lit(True)
    for name in _with_inputs(names, how):
        if how.columns[name].sql:
            is_understood &= ~has_failed(f"_sql_{name}") & (
                value_of(f"_sql_{name}").isNull() | F.col(name).isNotNull()
            )
        else:
            is_understood &= F.col(f"_text_{name}").isNull() | F.col(name).isNotNull()
    return is_understood


def _with_inputs(names: Sequence[str], how: Decoding) -> list[str]:
    """Of the table's columns these, and all that they are computed from."""
    wanted, waiting = set[str](), [name.lower() for name in names]
    expressions = {name.lower(): column.sql for name, column in how.columns.items()}
    while waiting:
        if (name := waiting.pop()) not in wanted:
            wanted.add(name)
            waiting += [one.lower() for one in columns_in(sql)] if (sql := expressions.get(name)) else []
    return [name for name in how.columns if name.lower() in wanted]


def _shown(names: Sequence[str]) -> Column:
    parts = [
        F.concat(F.lit(f"{name} = "), F.coalesce(F.col(name).cast("string"), F.lit("NULL"))) for name in names
    ]
    return F.concat_ws(", ", *parts) if parts else F.lit(None).cast("string")


def _against_event_time(how: Decoding, name: str) -> list[Reason]:
    at, arrived, is_asked = F.col(name), F.col("_arrived_at"), ~F.col("_is_delete")
    reasons = []
    if how.future:
        is_future = F.coalesce(at > arrived + F.expr(f"INTERVAL {how.future}"), F.lit(False))
        reasons.append(_reason(f"at most {how.future} after arrival", name, at, when=is_future & is_asked))
    if how.past:
        is_past = F.coalesce(at < arrived - F.expr(f"INTERVAL {how.past}"), F.lit(False))
        reasons.append(_reason(f"at most {how.past} before arrival", name, at, when=is_past & is_asked))
    return reasons


def _unmet(rule: Rule, place: int, how: Decoding) -> Reason:
    """A rule asks nothing of rows that delete or are dropped, nor of a value that was not understood: that is
    a reason of its own.

    A row on which its condition fails does not meet it: nobody knows whether the rule is meant for the row.
    """
    is_asked = ~F.col("_is_delete") & ~F.col("_is_dropped") & _are_understood(rule.columns, how)
    if sql := rule.kwargs.get("row_condition"):
        result, are_understood = _condition_of(place), _are_understood(columns_in(sql), how)
        is_unmet = fails(rule, _holds(result)) | (has_failed(result) & are_understood)
    else:
        is_unmet = fails(rule)
    return _reason(rule.name, ", ".join(rule.columns) or None, shown_value(rule), when=is_asked & is_unmet)


def _reason(rule: str, column: str | None, value: Column, when: Column) -> Reason:
    text = F.substring(value.cast("string"), 1, VALUE_LENGTH)
    return when, F.struct(
        F.lit(rule).alias("rule"), F.lit(column).cast("string").alias("column"), text.alias("value")
    )


def _present(*reasons: Reason) -> Column:
    """The reasons that apply. They are built only for a row that has one: for good rows, nearly all, it takes
    some comparisons.
    """
    if not reasons:
        return _no_reasons()
    is_bad = reduce(or_, (applies for applies, _ in reasons))
    built = F.array(
        *(F.when(applies, reason).otherwise(F.lit(None).cast(REASON)) for applies, reason in reasons)
    )
    return F.when(is_bad, F.filter(built, lambda reason: reason.isNotNull())).otherwise(_no_reasons())


def _no_reasons() -> Column:
    return F.array().cast(f"array<{REASON}>")
