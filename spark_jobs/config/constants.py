"""Finds the clock in constants: Spark reads 'now', 'today' and '12:30' as times of the day on which it reads
them.

That goes for typed literals, for casts, and for text that is compared with a time or given to a function of
times.
"""

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from spark_jobs.config.functions import BEHIND_A_PART, TAKE_TIMES, TEXTS, WITH_FORMAT
from spark_jobs.config.names import shorten
from spark_jobs.config.sql import DIALECT, Complaint, function_names

Types = Mapping[str, str]
"""The types of columns by their names in lower case, where they are known."""
OF_THE_DAY = re.compile(
    r"\s*((now|today|tomorrow|yesterday)(\s+\S.*)?|T?\d{1,2}:\d{1,2}.*)\s*", re.IGNORECASE | re.DOTALL
)
TIMES = ("date", "timestamp", "timestampntz", "timestampltz", "timestamptz")
OF_HOURS = (
    exp.TimestampTrunc,
    exp.Hour,
    exp.Minute,
    exp.Second,
    exp.TimeStrToTime,
    exp.TimestampAdd,
    exp.TimestampDiff,
    exp.Extract,
)
OF_TIMES = (
    *OF_HOURS, exp.TsOrDsToDate, exp.TsOrDsAdd, exp.DateTrunc, exp.Year, exp.Month, exp.Day, exp.DayOfWeek,
    exp.DayOfMonth, exp.DayOfYear, exp.WeekOfYear, exp.Quarter, exp.DateDiff, exp.DateAdd, exp.DateSub,
    exp.MonthsBetween, exp.AddMonths, exp.LastDay, exp.NextDay, exp.UnixDate, exp.UnixSeconds, exp.UnixMillis,
    exp.UnixMicros, exp.AtTimeZone, exp.FromTimeZone,
)  # fmt: skip
"""What sqlglot makes of the functions of times; the others keep their names."""
NO_VALUES = ("unit", "format", "zone")
COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Between,
    exp.In,
    exp.Is,
)
MIXING = frozenset(
    ("coalesce", "nvl", "ifnull", "nullif", "nvl2", "greatest", "least", "array", "max", "min")
)
"""What gives one of its values: these have one type, so that text among times is read as a time."""
HOLDING = frozenset(
    (
        "array_append", "array_contains", "array_insert", "array_position", "array_prepend", "array_remove",
        "decode_case", "equal_null", "lag", "lead", "map_contains_key", "stack",
    )
)  # fmt: skip
"""What takes a value for one of another argument's, or of its elements."""
CONSTANT = "write the constant itself, as in TIMESTAMP '2026-01-31 12:30:00'"
FORM = "to_timestamp({}, 'yyyy-MM-dd HH:mm:ss')"


def clocks_in_constants(tree: exp.Expr, types: Types) -> list[Complaint]:
    """Constants that another day would read as another time, and texts that may be such: (message, hint)
    each.
    """
    found = [*_of_the_day(tree, types), *_computed(tree, types), *_texts_as_times(tree, types)]
    return list(dict.fromkeys(found))


def _of_the_day(tree: exp.Expr, types: Types) -> Iterator[Complaint]:
    for node in tree.find_all(exp.Literal, exp.RawString):
        if (
            (node.is_string or isinstance(node, exp.RawString))
            and OF_THE_DAY.fullmatch(node.name)
            and _is_read_as_time(node, types)
        ):
            text = node.sql(DIALECT)
            hint = (
                f"{CONSTANT}; or take the time from the data, as in the event time; for text, compare CAST(x"
                f" AS STRING) = {text}"
            )
            yield f"{text} is a time of the day on which it is read", hint


def _computed(tree: exp.Expr, types: Types) -> Iterator[Complaint]:
    """Text that is put together from constants may be any word."""
    for node in tree.walk():
        parts = (
            [node.this]
            if _makes_time(node)
            else [*node.iter_expressions()]
            if isinstance(node, COMPARISONS)
            else []
        )
        is_text = isinstance(node, COMPARISONS) and all(_is_text(part, types) for part in parts)
        for part in parts:
            value = part.unnest()
            if (
                not is_text
                and _is_text(value, types)
                and not _is_literal(value)
                and not value.find(exp.Column, exp.Query)
            ):
                yield (
                    (
                        f"{shorten(value.sql(DIALECT))} is a constant that may be read as a time of the day"
                        " on which it is read"
                    ),
                    CONSTANT,
                )


def _texts_as_times(tree: exp.Expr, types: Types) -> Iterator[Complaint]:
    """Text columns that become times: a value such as 12:30 would be a time of the day on
    which it is read.
    """
    for node in tree.walk():
        parts = [value.unnest() for value in _read_as_times(node, types)]
        for value in (
            part
            for part in parts
            if _is_text(part, types) and part.find(exp.Column) and not part.find(exp.Query)
        ):
            message = (
                f"{shorten(node.sql(DIALECT))} reads text as a time, and a value such as 12:30 is one of the"
                " day on which it is read"
            )
            yield (
                message,
                (
                    "declare the column as timestamp, or say the form of the text, as in"
                    f" {FORM.format(value.sql(DIALECT))}"
                ),
            )


def _read_as_times(node: exp.Expr, types: Types) -> list[exp.Expr]:
    """What a cast, function or operator takes for times of a day; text without a date is no date."""
    if isinstance(node, exp.Cast):
        return [node.this] if node.is_type(*TIMES[1:]) else []
    if isinstance(node, OF_HOURS):
        return [node.expression if isinstance(node, exp.Extract) else node.this]
    if isinstance(node, (exp.Add, exp.Sub, *COMPARISONS)):
        parts = [*node.iter_expressions()]
        is_of_times = any(isinstance(part, exp.Interval) or _is_timestamp(part, types) for part in parts)
        return parts if is_of_times else []
    takes = function_names(node) & TAKE_TIMES if isinstance(node, exp.Anonymous) else set()
    has_format = bool(takes & WITH_FORMAT) and len(node.expressions) > 1
    place = _place_of_time(node)
    return node.expressions[place : place + 1] if takes and not has_format else []


def _place_of_time(function: exp.Expr) -> int:
    """At which place a function that keeps its name takes its time."""
    return 1 if function_names(function) & BEHIND_A_PART else 0


def _is_timestamp(node: exp.Expr, types: Types) -> bool:
    node = node.unnest()
    return (isinstance(node, exp.Cast) and bool(node.is_type(*TIMES[1:]))) or (
        isinstance(node, exp.Column) and types.get(node.name.lower()) == "timestamp"
    )


def _is_read_as_time(node: exp.Expr, types: Types) -> bool:
    """Whether a word ends where Spark makes it a time: goes up from it through all that hands it on."""
    value, around = node, node.parent
    while around is not None:
        if isinstance(around, exp.Cast):
            return any(kind.is_type(*TIMES) for kind in around.to.find_all(exp.DataType))
        if isinstance(around, OF_TIMES) or function_names(around) & TAKE_TIMES:
            return value.arg_key not in NO_VALUES and (value.index or 0) == _place_of_time(around)
        if isinstance(around, exp.Add | exp.Sub | exp.Values | exp.SetOperation):
            return True
        if function_names(around) & HOLDING and any(
            _has_times(other, types) for other in around.iter_expressions() if other is not value
        ):
            return True
        others = _beside(value, around)
        if others is None:
            return False
        if not all(_is_text(other, types) for other in others):
            return True
        if isinstance(around, COMPARISONS) or (isinstance(around, exp.If) and value.arg_key == "this"):
            return False
        value, around = around, around.parent
    return False


def _beside(value: exp.Expr, around: exp.Expr) -> list[exp.Expr] | None:
    """The values that must have one type with this one; None where it is text for a function, or the result
    of an expression.
    """
    if isinstance(around, exp.If | exp.Case):
        case = around.parent if isinstance(around.parent, exp.Case) else around
        if value.arg_key == "this":  # CASE x WHEN value
            return [case.this] if case is not around and case.this is not None else None
        branches = [part for part in (*case.args.get("ifs", ()), around) if isinstance(part, exp.If)]
        given = [branch.args.get(name) for branch in branches for name in ("true", "false")] + [
            case.args.get("default")
        ]
        return [part for part in given if part is not None and part is not value]
    if isinstance(around, COMPARISONS) or function_names(around) & MIXING:
        return [part for part in around.iter_expressions() if part is not value]
    return (
        []
        if isinstance(
            around,
            exp.Paren | exp.Tuple | exp.Bracket | exp.Alias | exp.Select | exp.Subquery | exp.All | exp.Any,
        )
        else None
    )


def _has_times(node: exp.Expr, types: Types) -> bool:
    """Whether it surely is a date or a time, or holds some."""
    return any(
        (isinstance(part, exp.Cast) and bool(part.is_type(*TIMES)))
        or (isinstance(part, exp.Column) and re.search("timestamp|date", types.get(part.name.lower(), "")))
        for part in node.walk()
    )


def _makes_time(node: exp.Expr) -> bool:
    return (isinstance(node, exp.Cast) and bool(node.is_type(*TIMES))) or isinstance(
        node, exp.TsOrDsToDate | exp.TimestampTrunc
    )


def _is_literal(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal | exp.RawString)


def _is_text(node: exp.Expr, types: Types) -> bool:
    """Whether a value is surely text."""
    node = node.unnest()
    if isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string):
        return True
    if isinstance(node, exp.Cast):
        return bool(node.is_type("text", "varchar", "char"))
    if isinstance(node, exp.Column):
        return (
            types.get(node.name.lower() if len(node.parts) == 1 or node.name.lower() in types else "", "")
            == "string"
        )
    return isinstance(node, exp.DPipe | exp.Tuple) or bool(function_names(node) & TEXTS)
