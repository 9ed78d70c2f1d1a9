"""No number in a record may say how large a result becomes: that would end the run."""

import time

import pytest

from spark_jobs.config.expressions import judge_column, judge_measure, judge_query, judge_row_expression
from spark_jobs.config.sql import parse_query

COLUMNS = {
    "x": "string", "f": "string", "n": "int", "m": "bigint", "xs": "array<string>", "day": "date",
    "until": "date", "at": "timestamp",
}  # fmt: skip


def complaints_of_query(value: str) -> list[tuple[str, str]]:
    sql = f"SELECT {value} AS made FROM silver.orders"
    return judge_query(sql, parse_query(sql), {"silver.orders": COLUMNS}, {})


@pytest.mark.parametrize(
    "expression",
    [
        "repeat('x', n)", "space(n)", "lpad(x, n)", "rpad(x, m, '0')", "array_repeat(x, n)", "array_insert(xs, n, 'x')",
        "array_insert(xs, least(n, 10), 'x')", "format_number(n, n)", "format_number(n, f)", "concat(x, `repeat`('x', n))",
        "Repeat('x', (cast(n AS int)))", "repeat('x', n + 1)", "repeat('x', 10 - n)", "repeat('x', n * 2)", "repeat('x', -n)",
        "repeat('x', greatest(n, 10))", "repeat('x', coalesce(n, 10))", "repeat('x', if(n > 10, n, 10))",
        "repeat('x', case when n > 10 then 10 else n end)", "repeat('x', least(n, m))", "repeat('x', least(n, length(x)))",
        "repeat('x', least(n % 5, m))", "repeat('x', least(n, cast(f AS int)))", "repeat('x', least(n, 10) - 2000000000)", "repeat('x', cast(least(m, 10) AS int))",
        "transform(xs, i -> repeat('x', n))", "repeat('x', '2000000000')", "array_repeat(1, '9')", "array_insert(xs, 1 - n, 'x')", "transform(xs, i -> space(i))", "repeat('x', try_cast(x AS int))", "repeat('x', 5 % n)",
    ],
)  # fmt: skip
def test_a_size_that_a_value_says_is_refused(expression: str) -> None:
    for found in (judge_row_expression(expression, COLUMNS), complaints_of_query(expression)):
        [(message, hint)] = found

        assert "would end the run" in message
        assert "least(" in hint


@pytest.mark.parametrize(
    "expression",
    [
        "repeat('x', 20000)", "space(2000000000)", "repeat(x, 1000)", "repeat(repeat('x', 1000), 1000)", "repeat(repeat(x, 100), 100)",
        "array_repeat(space(1000), 1000)", "repeat(x, length(x))", "repeat(f, length(x) - 1)", "format_string('%2000000000d', n)",
        "printf('%1$.99999f', n)", "format_string(f, n)", "printf(concat('%', f), n)",
        "transform(array_repeat(1, 10000), i -> space(10000))", "array_insert(xs, -20000, 'x')",
    ],
)  # fmt: skip
def test_a_size_that_is_written_and_too_large_is_refused(expression: str) -> None:
    assert judge_row_expression(expression, COLUMNS)


@pytest.mark.parametrize(
    "expression",
    [
        "lpad(x, 10, '0')", "rpad(x, 20)", "repeat('*', length(x))", "concat(left(x, 2), repeat('*', length(x) - 2))",
        "repeat('*', greatest(length(x) - 4, 0))", "repeat('ab', size(xs))", "rpad(x, length(f) + 2)", "space(length(x))", "array_repeat(NULL, size(xs))", "array_insert(xs, size(xs), 'x')", "repeat('*', least(n, 10))",
        "repeat('*', least(coalesce(n, 0), 10))", "repeat('*', coalesce(least(10, m), 0))", "repeat('*', n % 10)",
        "repeat('*', pmod(n, 10))", "repeat('*', if(x = 'a', 3, 5))", "repeat('*', case when n > 10 then 10 end)",
        "space(least(cast(m AS int), 10))", "space(10 - greatest(0, least(n, 10)))", "repeat('*', month(at))", "repeat(x, 100)",
        "repeat(left(x, 5), 1000)", "array_repeat(0, 24)", "array_insert(xs, 1, 'x')", "array_insert(xs, -1, 'x')",
        "format_number(n, 2)", "format_number(n, '#,###.00')", "format_string('%010d of 100%% %2$s', n, x)", "printf(r'%5.2f', n)",
        "transform(xs, i -> lpad(i, 10, ' '))", "transform(xs, i -> named_struct('x', x, 'i', i, 'f', f, 'more', 'text'))",
        "replace(x, 'a', 'aa')", "repeat('*', least(10L, m))", "concat(lpad(x, 5000), lpad(f, 5000), lpad(x, 5000))",
        "transform(array_repeat(1, 24), (one, h) -> named_struct('x', x, 'hour', h))",
    ],
)  # fmt: skip
def test_a_size_that_a_constant_or_a_length_bounds_passes(expression: str) -> None:
    assert judge_row_expression(expression, COLUMNS) == []
    assert complaints_of_query(expression) == []


@pytest.mark.parametrize(
    "expression",
    [
        "sequence(1, n)", "sequence(1, least(n, 100))", "sequence(greatest(n, 1), 100)", "sequence(n, n + 10)", "sequence(1, 20000)",
        "sequence(at, at, INTERVAL 1 SECOND)", "sequence(day, until, INTERVAL 1 HOUR)", "sequence(1, n, 1)", "sequence(day, at)",
        "sequence(cast(3000000000 AS int), 3000000001)", "sequence(1, count(*))",
    ],
)  # fmt: skip
def test_a_sequence_without_ends_is_refused(expression: str) -> None:
    [(message, hint)] = complaints_of_query(f"size({expression})")

    assert "would end the run" in message
    assert "sequence(" in hint


@pytest.mark.parametrize(
    "expression",
    [
        "sequence(0, 23)", "sequence(1, greatest(1, least(n, 100)))", "sequence(day, until)", "sequence(min(day), max(day))",
        "sequence(trunc(day, 'MM'), last_day(day), INTERVAL 1 MONTH)", "sequence(to_date(at), date_add(to_date(at), n))",
        "sequence(1, day(last_day(day)))", "sequence(DATE '2026-01-01', DATE '2026-12-31', INTERVAL '1' DAY)", "sequence(10, 1, -1)",
    ],
)  # fmt: skip
def test_a_sequence_with_ends_passes(expression: str) -> None:
    assert complaints_of_query(f"size({expression})") == []


@pytest.mark.parametrize(
    "step",
    [
        "(text, i) -> concat(text, text)", "(text, i) -> text || i || text", "(text, i) -> if(i = 'a', concat(text, text), text)",
        "(text, i) -> replace(text, 'x', 'xx')", "(text, i) -> repeat(text, 2)", "(t, i) -> named_struct('a', t.a || t.b, 'b', t.a)",
        "(list, i) -> array_union(list, transform(list, j -> j || j))", "(text, i) -> hex(text)",
    ],
)  # fmt: skip
def test_an_aggregate_whose_text_doubles_with_every_element_is_refused(step: str) -> None:
    [(message, hint)] = judge_row_expression(f"aggregate(xs, 'x', {step})", COLUMNS)

    assert "doubles" in message
    assert "once" in hint


@pytest.mark.parametrize(
    "step",
    [
        "(text, i) -> concat(text, ',', i)", "(sum, i) -> sum + sum * length(i)", "(m, i) -> if(m > i, m, i)", "(m, i) -> greatest(m, i)",
        "(list, i) -> if(array_contains(list, i), list, array_append(list, i))",
        "(t, i) -> named_struct('n', t.n + 1, 'least', least(t.least, i), 'most', greatest(t.most, i))",
        "(text, i) -> case when length(text) < 10 then text || i else text end",
    ],
)  # fmt: skip
def test_an_aggregate_that_adds_to_what_it_has_passes(step: str) -> None:
    assert judge_row_expression(f"aggregate(xs, 'x', {step})", COLUMNS) == []


def test_a_measure_is_bounded_as_well() -> None:
    refused = judge_measure("max(repeat('x', n))", COLUMNS, ["x"])

    assert ["would end the run" in message for message, _ in refused] == [True]
    assert judge_measure("max(lpad(x, 10, '0'))", COLUMNS, ["f"]) == []


@pytest.mark.parametrize(
    "expression",
    ["named_struct('a', n)", "struct(n, x)", "array(x)", "(split(x, ','))", "xs", "transform(xs, i -> upper(i))", "map('a', n)", "str_to_map(x)"],
)  # fmt: skip
def test_an_array_or_object_is_no_text_and_no_number(expression: str) -> None:
    [(message, hint)] = judge_column(expression, "string", COLUMNS)
    [(of_number, _)] = judge_column(expression, "int", COLUMNS)

    assert message.endswith("is an array, a map or an object, which is no string")
    assert of_number.endswith("which is no int")
    assert "to_json" in hint


@pytest.mark.parametrize(
    "expression", ["to_json(named_struct('a', n))", "xs[0]", "split(x, ',')[0]", "size(xs)", "element_at(xs, 1)", "array_join(xs, ',')"]
)  # fmt: skip
def test_what_is_taken_out_of_one_is_text(expression: str) -> None:
    assert judge_column(expression, "string", COLUMNS) == []
    assert judge_column("xs", "array<string>", COLUMNS) == []


def test_a_long_condition_is_judged_in_time_proportional_to_it() -> None:
    """Each part of it was written out once for every part around it: minutes for some hundred conditions."""
    started = time.process_time()

    assert judge_row_expression(" OR ".join(["a LIKE '%x%y%'"] * 400), {"a": "string"}) == []

    assert time.process_time() - started < 3
