"""The Spark SQL types that a column may have: parsed, checked and spelt in one way.

Only types that every Delta reader understands; the others are refused with the reason.
"""

import re
from collections import deque
from typing import Annotated

from pydantic import AfterValidator

from spark_jobs.config.errors import Hinted, did_you_mean
from spark_jobs.config.names import shorten

SIMPLE = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp")
OTHER_SPELLINGS = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
}
ALLOWED = (*SIMPLE, "decimal(p,s)", "array<type>", "map<type,type>", "struct<name:type>")
REFUSED = {
    "timestamp_ntz": ("it needs a table feature that not every Delta reader has", "use timestamp (UTC)"),
    "timestamp_ltz": ("it is another word for timestamp", "use timestamp"),
    "variant": (
        "it needs a table feature that not every Delta reader has",
        "use string, and read it with get_json_object",
    ),
    "binary": ("records are kept as text", "use string, with base64 or hex inside"),
    "interval": ("it cannot be stored in a Delta table", "use bigint, with the unit in the name"),
    "varchar": ("its length is not enforced for every writer", "use string"),
    "char": ("its length is not enforced for every writer", "use string"),
    "void": ("a column of it can hold nothing", "use string"),
}
MAX_DEPTH = 20


def check_type(value: str) -> str:
    """The type in its normal spelling, as in decimal(10,0) for DECIMAL; ValueError for anything else."""
    tokens = deque(re.findall(r"[A-Za-z_][A-Za-z0-9_]*|\d+|\S", value))
    if not tokens:
        raise Hinted("the type is empty", f"allowed: {', '.join(ALLOWED)}")
    spelling = _read_type(tokens, value, 0)
    if tokens:
        # string[] and double precision, as others write them
        alone = f"array<{spelling}>" if tokens[0] == "[" else spelling
        raise Hinted(
            f"{shorten(value)} is not a type: {tokens[0]!r} stands after its end", f"write {alone} alone"
        )
    return spelling


def is_complex(spark_type: str) -> bool:
    """Whether values are arrays, maps or structs, which cannot be keys and are not taken
    from a flat record.
    """
    return spark_type.startswith(("array<", "map<", "struct<"))


def decimal_precision(spark_type: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for the others."""
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", spark_type)
    return (int(match[1]), int(match[2])) if match else None


def _read_type(tokens: deque[str], whole: str, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise Hinted(f"{shorten(whole)} is nested deeper than {MAX_DEPTH} levels", "flatten it")
    word = _take(tokens, whole, r"[A-Za-z_]\w*", "a type")
    name = OTHER_SPELLINGS.get(word.lower(), word.lower())
    if name in SIMPLE:
        return name
    if name in REFUSED:
        why, instead = REFUSED[name]
        raise Hinted(f"the type {name} is not supported: {why}", instead)
    if name == "decimal":
        return _read_decimal(tokens, whole)
    if name not in ("array", "map", "struct"):
        raise Hinted(f"{shorten(word)} is not a type that Spark knows", did_you_mean(word, ALLOWED))
    _take(tokens, whole, "<", f"'<' after {name}")
    if name == "array":
        inner = _read_type(tokens, whole, depth + 1)
    elif name == "map":
        inner = _read_map(tokens, whole, depth)
    else:
        inner = _read_fields(tokens, whole, depth)
    _take(tokens, whole, ">", f"'>' at the end of {name}")
    return f"{name}<{inner}>"


def _read_decimal(tokens: deque[str], whole: str) -> str:
    if not tokens or tokens[0] != "(":
        return "decimal(10,0)"
    tokens.popleft()
    precision, scale = int(_take(tokens, whole, r"\d{1,3}", "the number of digits")), 0
    if tokens and tokens[0] == ",":
        tokens.popleft()
        scale = int(_take(tokens, whole, r"\d{1,3}", "the number of digits after the point"))
    _take(tokens, whole, r"\)", "')' at the end of decimal")
    if not 1 <= precision <= 38 or scale > precision:
        raise Hinted(
            f"decimal({precision},{scale}) is not possible",
            "allowed: 1 to 38 digits, and at most as many after the point",
        )
    return f"decimal({precision},{scale})"


def _read_map(tokens: deque[str], whole: str, depth: int) -> str:
    key = _read_type(tokens, whole, depth + 1)
    if is_complex(key):
        raise Hinted(f"{shorten(key)} cannot be the key of a map", "use string")
    _take(tokens, whole, ",", "',' between the key and the value of map")
    return f"{key},{_read_type(tokens, whole, depth + 1)}"


def _read_fields(tokens: deque[str], whole: str, depth: int) -> str:
    fields: dict[str, str] = {}
    while True:
        field = _take(tokens, whole, r"[A-Za-z_]\w*", "the name of a field")
        if tokens and tokens[0] == ":":
            tokens.popleft()
        if field.lower() in [known.lower() for known in fields]:
            raise Hinted(f"{shorten(whole)} has the field {field!r} twice", "names are compared without case")
        fields[field] = _read_type(tokens, whole, depth + 1)
        if not tokens or tokens[0] != ",":
            return ",".join(f"{name}:{spark_type}" for name, spark_type in fields.items())
        tokens.popleft()


def _take(tokens: deque[str], whole: str, pattern: str, expected: str) -> str:
    if not tokens or not re.fullmatch(pattern, tokens[0]):
        found = f"{tokens[0]!r} stands" if tokens else "the text ends"
        raise Hinted(
            f"{shorten(whole)} is not a type: {found} where {expected} is expected",
            f"allowed: {', '.join(ALLOWED)}",
        )
    return tokens.popleft()


SparkType = Annotated[str, AfterValidator(check_type)]
