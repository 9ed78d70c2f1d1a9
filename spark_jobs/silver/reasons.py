"""Why a row cannot be published: what does not fit its column, conditions that fail, rules that it does not
meet.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config.expectations import READABLE, Rule
from spark_jobs.config.sql import columns_in
from spark_jobs.quality.predicates import fails, shown_value
from spark_jobs.silver.decoding import Decoding
from spark_jobs.silver.strict_sql import has_failed, value_of

REASON = "struct<rule:string,column:string,value:string>"
VALUE_LENGTH = 200
WHERE, DELETE_WHEN = "_condition_where", "_condition_delete_when"

Reason = tuple[Column, Column]
"""When it applies, and what it says."""


def conditions_of(how: Decoding, rules: Sequence[Rule]) -> dict[str, str]:
    asked = {WHERE: how.where, DELETE_WHEN: how.delete_when}
    asked |= {_condition_of(place): rule.kwargs.get("row_condition") for place, rule in enumerate(rules)}
    return {name: sql for name, sql in asked.items() if sql}


def _condition_of(place: int) -> str:
    return f"_condition_{place}"


def holds(result: str) -> Column:
    return F.coalesce(value_of(result), F.lit(False))


def broken_reasons() -> Column:
    """What is wrong with the record as a whole: nothing further is asked of such a row."""
    return _present(
        _reason(READABLE, None, F.col("_problem"), when=F.col("_problem").isNotNull()),
        _reason("decodable", None, F.col("_wrong"), when=F.col("_wrong").isNotNull()),
    )


def all_reasons(how: Decoding, rules: Sequence[Rule]) -> Column:
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
        is_unmet = fails(rule, holds(result)) | (has_failed(result) & are_understood)
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
