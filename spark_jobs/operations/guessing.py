"""Guesses the columns of a table from records. What enters: records as Python objects. What leaves: column
names, types and paths.

A guess is made once, by `weir propose`, and written into the pipeline file; nothing is guessed when data is
read.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

from spark_jobs.config.path_template import PATH_PART
from spark_jobs.config.types import decimal_precision

INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9]\d{0,17})\.\d{1,18}")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?")
BIGGEST, SPARE_DIGITS = 2**63, 4
MOST_DIGITS = 38
DEEPEST = 20

Kind = str | dict[str, Any] | list[Any] | None
"""A simple type; the fields of an object; of an array the kind of its elements; None
where nothing is known.
"""
Path = tuple[str, ...]


def guess_columns(
    records: Iterable[Mapping[str, Any]], *, is_flat: bool = False
) -> dict[str, tuple[str, str]]:
    """Per column its type and its path in the record, in the order of the fields. Fields of a flat record are
    taken by their whole name.
    """
    root = reduce(_join, (_kind(dict(record)) for record in records), None)
    columns: dict[str, tuple[str, str]] = {}
    for path, kind in _leaves(root if isinstance(root, dict) else {}, is_flat):
        columns[_free_name(path, columns)] = (_spell(kind), ".".join(path))
    return columns


def guess_parts(
    paths: Iterable[Mapping[str, str | None]], columns: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """The same of the named parts of paths, under names that none of these columns has."""
    found = dict(columns)
    for kind, part in guess_columns(paths, is_flat=True).values():
        found[_free_name(("path", part), found)] = (kind, f"{PATH_PART}{part}")
    return found


def _kind(value: Any, depth: int = 0) -> Kind:
    if isinstance(value, dict) and value and depth < DEEPEST:
        return {str(name): _kind(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list) and depth < DEEPEST:
        return [reduce(_join, (_kind(inner, depth + 1) for inner in value), None)]
    match value:
        case None | {} | []:
            return None
        case bool():
            return "boolean"
        case int():
            return "bigint" if -BIGGEST <= value < BIGGEST else "string"
        case Decimal():
            return _decimal(str(value)) if DECIMAL.fullmatch(str(value)) else "double"
    return _kind_of_text(str(value))


def _kind_of_text(text: str) -> Kind:
    if not text:
        return None
    if text in ("true", "false"):
        return "boolean"
    if INTEGER.fullmatch(text):
        return "bigint"
    if DECIMAL.fullmatch(text):
        return _decimal(text)
    return "date" if DATE.fullmatch(text) else "timestamp" if TIMESTAMP.fullmatch(text) else "string"


def _decimal(text: str) -> str:
    whole, _, part = text.lstrip("-").partition(".")
    return f"decimal({min(len(whole) + len(part), MOST_DIGITS)},{len(part)})"


def _join(one: Kind, other: Kind) -> Kind:
    """What both fit."""
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _join(one.get(name), other.get(name)) for name in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return [_join(one[0], other[0])]
    if isinstance(one, str) and isinstance(other, str):
        return _join_simple(one, other)
    return "string"


def _join_simple(one: str, other: str) -> str:
    kinds = {one, other}
    if kinds == {"date", "timestamp"}:
        return "timestamp"
    digits = [(18, 0) if kind == "bigint" else decimal_precision(kind) for kind in (one, other)]
    if None not in digits:
        (first, first_scale), (second, second_scale) = (found for found in digits if found)
        scale, whole = max(first_scale, second_scale), max(first - first_scale, second - second_scale)
        return f"decimal({min(whole + scale, MOST_DIGITS)},{scale})"
    if "double" in kinds and all(
        kind in ("double", "bigint") or kind.startswith("decimal") for kind in kinds
    ):
        return "double"
    return "string"


def _spell(kind: Kind) -> str:
    """As Spark writes it. Decimals get some digits to spare; of what is not known only text is safe."""
    if isinstance(kind, dict):
        return f"struct<{','.join(f'{name}:{_spell(inner)}' for name, inner in kind.items())}>"
    if isinstance(kind, list):
        return f"array<{_spell(kind[0])}>"
    precision, scale = (decimal_precision(kind) if kind else None) or (0, 0)
    return f"decimal({min(precision + SPARE_DIGITS, MOST_DIGITS)},{scale})" if precision else kind or "string"


def _leaves(fields: dict[str, Any], is_flat: bool, above: Path = ()) -> Iterable[tuple[Path, Kind]]:
    for name, kind in fields.items():
        is_path = name.strip() and "`" not in name and (is_flat or "." not in name)
        if not is_path:
            continue  # no column can reach it
        if isinstance(kind, dict):
            yield from _leaves(kind, is_flat, (*above, name))
        elif (
            isinstance(kind, list)
            and isinstance(kind[0], dict)
            and not all(re.fullmatch(r"\w+", inner) for inner in kind[0])
        ):
            yield (*above, name), "string"
        else:
            yield (*above, name), kind


def _free_name(path: Path, taken: Mapping[str, Any]) -> str:
    """The last part of the path, with those above it where that is taken; always a legal name."""
    known = {name.lower() for name in taken}
    for length in range(1, len(path) + 1):
        name = _legal("_".join(path[-length:]))
        if name.lower() not in known:
            return name
    return next(
        f"{name[:58]}_{number}" for number in range(2, 10_000) if f"{name[:58]}_{number}".lower() not in known
    )


def _legal(text: str) -> str:
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return (name if re.match(r"[A-Za-z]", name) else f"c_{name}")[:63]
