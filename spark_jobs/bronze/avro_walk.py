"""How long a row of Avro is as a record, found without making its values. Needed for what a small file can
hide: rows without end, arrays of a billion items that take no bytes, long names in each of a million items,
types within themselves, which fastavro follows until the stack ends and the process dies, and a key that a
map has twice, of which fastavro keeps the last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.avro_types import check_fields

DEEPEST = 100
FIXED_BYTES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
NULL = 4
"""What a value that takes no bytes counts for: it is a `null` in the record."""
AROUND_NAME = 4
"""Quotes, a colon and a blank."""
MOST_OF_ROW = 512 * 1024 * 1024
"""A row is not followed any further than this: longer ones than a record may be are passed over, but not for
ever.
"""
PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
LONGEST_NUMBER = 10


class Walked(NamedTuple):
    """A row as it was found: where it ends, how long it is as a record, and whether one of its maps has a key
    twice.
    """

    end: int
    size: int
    has_key_twice: bool


SHORT = Walked(0, 0, has_key_twice=False)
"""A row that needs no walk."""


@dataclass(frozen=True)
class Walker:
    """`is_harmless`: no row can be deeper, or have more values, than its bytes say, nor has it maps. `least`:
    what the names and nulls of a row take that has nothing else. `growth`: what each byte of a row may add to
    that.
    """

    schema: Any
    measure: "_Measure"
    is_harmless: bool
    may_be_empty: bool
    least: int
    growth: int

    def is_short(self, size: int, longest: int) -> bool:
        """Whether no row of so many bytes can be longer than a record may be, or say a thing twice."""
        return self.is_harmless and self.least + size * (1 + self.growth) <= longest

    def walk(self, block: bytes, start: int) -> Walked:
        """The row that begins there; never longer than the time that its bytes take."""
        row = _Row(self.measure, block, start)
        row.skip(self.schema, 0)
        return Walked(row.at, row.at - start + row.more, row.has_key_twice)


def make_walker(schema: Any, longest: int) -> Walker:
    """UnreadableFile where the schema itself is nested too deeply, has a field twice, or says more than a
    record may have before there is any value.
    """
    named: dict[str, Any] = {}
    _collect(schema, named, 0)
    is_recursive = any(_reaches(named[name], name, named, set()) for name in named)
    measure = _Measure(named)
    least, items = measure.spelled_out(schema), _all_items(schema)
    if least > longest:
        raise UnreadableFile(
            f"its schema alone makes rows of {least:,} bytes, longer than bytes_per_record allows:"
            f" {longest:,}"
        )
    hides = _has_maps(schema) or any(not measure.least_bytes(item) for item in items)
    growth = max((measure.spelled_out(item) for item in items), default=0)
    may_be_empty = not measure.least_bytes(schema)
    return Walker(schema, measure, not (is_recursive or hides or may_be_empty), may_be_empty, least, growth)


class _Measure:
    """What a value of a type takes at least, asked once for each named type: types that hold two of the next
    one, forty times over, are a few lines of schema and a million million values.
    """

    def __init__(self, named: dict[str, Any]) -> None:
        self.named = named
        self.bytes: dict[str, int] = {}
        self.lengths: dict[str, int] = {}

    def least_bytes(self, schema: Any) -> int:
        """In the file."""
        if isinstance(schema, list):
            return 1
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null" | "boolean" | "float" | "double":
                return FIXED_BYTES[kind]
            case "fixed":
                return int(schema["size"])
            case "record" | "error":
                return self._once(
                    self.bytes,
                    schema,
                    lambda: sum(self.least_bytes(field["type"]) for field in schema["fields"]),
                )
            case str():
                return self.least_bytes(self.named[kind]) if kind in self.named else 1
        return self.least_bytes(kind)

    def spelled_out(self, schema: Any) -> int:
        """In the record: names and nulls, without the items of arrays and maps. Of a
        union its longest type.
        """
        if isinstance(schema, list):
            return max((self.spelled_out(branch) for branch in schema), default=0)
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                return NULL
            case "record" | "error":
                return self._once(
                    self.lengths,
                    schema,
                    lambda: sum(self._spelled_field(field) for field in schema["fields"]),
                )
            case str():
                return (
                    self.spelled_out(self.named[kind]) if kind in self.named and not _is_named(schema) else 0
                )
        return self.spelled_out(kind)

    def _spelled_field(self, field: Any) -> int:
        return len(field["name"]) + AROUND_NAME + self.spelled_out(field["type"])

    def _once(self, known: dict[str, int], record: Any, measure: Callable[[], int]) -> int:
        """A type within itself counts once: how often it is there its bytes say."""
        if (name := record["name"]) not in known:
            known[name] = 0
            known[name] = measure()
        return known[name]


class _Row:
    def __init__(self, measure: _Measure, block: bytes, at: int) -> None:
        self.measure, self.block, self.at, self.more = measure, block, at, 0
        self.has_key_twice = False

    def skip(self, schema: Any, depth: int) -> None:  # noqa: C901 - one case per type of Avro
        if depth > DEEPEST:
            raise UnreadableFile(f"a row is nested more than {DEEPEST} deep")
        if isinstance(schema, list):
            schema = self._branch(schema)
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                self._add(NULL)
            case "boolean" | "float" | "double":
                self._move(FIXED_BYTES[kind])
            case "int" | "long" | "enum":
                self._number()
            case "bytes" | "string":
                self._move(self._number())
            case "fixed":
                self._move(schema["size"])
            case "record" | "error":
                for field in schema["fields"]:
                    self._add(len(field["name"]) + AROUND_NAME)
                    self.skip(field["type"], depth + 1)
            case "array":
                self._skip_items(schema["items"], depth, has_keys=False)
            case "map":
                self._skip_items(schema["values"], depth, has_keys=True)
            case _:
                self.skip(self.measure.named[kind] if isinstance(kind, str) else kind, depth + 1)

    def _branch(self, union: list[Any]) -> Any:
        number = self._number()
        if not 0 <= number < len(union):
            raise UnreadableFile("not a whole Avro file: a value is of no type of its union")
        return union[number]

    def _skip_items(self, items: Any, depth: int, *, has_keys: bool) -> None:
        is_empty = not has_keys and not self.measure.least_bytes(items)
        keys: set[bytes] = set()
        while count := self._number():
            if count < 0:
                count = -count
                self._number()
            if is_empty:
                self.more += count * max(self.measure.spelled_out(items), NULL)
                continue
            for _ in range(count):
                if has_keys:
                    self._take_key(keys)
                self.skip(items, depth + 1)

    def _take_key(self, keys: set[bytes]) -> None:
        size = self._number()
        self._move(size)
        key = self.block[self.at - size : self.at]
        self.has_key_twice |= key in keys
        keys.add(key)

    def _add(self, size: int) -> None:
        self.more += size
        if self.more > MOST_OF_ROW:
            raise UnreadableFile(f"a row has more than {MOST_OF_ROW:,} bytes when its names are written out")

    def _move(self, size: int) -> None:
        self.at += size
        if size < 0 or self.at > len(self.block):
            raise UnreadableFile("not a whole Avro file: a value goes beyond its block")

    def _number(self) -> int:
        if self.at < len(self.block) and (byte := self.block[self.at]) < 128:  # nearly every one
            self.at += 1
            return (byte >> 1) ^ -(byte & 1)
        value = 0
        for place in range(LONGEST_NUMBER):
            self._move(1)
            byte = self.block[self.at - 1]
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
        raise UnreadableFile("not a whole Avro file: a number has no end")


def _collect(schema: Any, named: dict[str, Any], depth: int) -> None:
    if depth > DEEPEST:
        raise UnreadableFile(f"its schema is nested more than {DEEPEST} deep")
    if _is_named(schema):
        named[schema["name"]] = schema
        check_fields(schema)
    for inner in _inner(schema):
        _collect(inner, named, depth + 1)


def _is_named(schema: Any) -> bool:
    return (
        isinstance(schema, dict)
        and schema.get("name") is not None
        and schema["type"] in ("record", "error", "fixed", "enum")
    )


def _inner(schema: Any) -> list[Any]:
    """The schemas that this one is made of."""
    if isinstance(schema, list):
        return schema
    if not isinstance(schema, dict):
        return []
    match schema["type"]:
        case "record" | "error":
            return [field["type"] for field in schema["fields"]]
        case "array":
            return [schema["items"]]
        case "map":
            return [schema["values"]]
        case str():
            return []
    return [schema["type"]]


def _all_items(schema: Any) -> list[Any]:
    """What arrays and maps have; a key takes bytes of its own."""
    own = [schema["items" if schema["type"] == "array" else "values"]] if _has_items(schema) else []
    return own + [items for inner in _inner(schema) for items in _all_items(inner)]


def _has_maps(schema: Any) -> bool:
    return (isinstance(schema, dict) and schema["type"] == "map") or any(map(_has_maps, _inner(schema)))


def _has_items(schema: Any) -> bool:
    return isinstance(schema, dict) and schema["type"] in ("array", "map")


def _reaches(schema: Any, name: str, named: dict[str, Any], seen: set[str]) -> bool:
    """Whether a type leads to itself."""
    for inner in _inner(schema):
        if isinstance(inner, str) and inner not in PRIMITIVE:
            if inner == name:
                return True
            if inner not in seen:
                seen.add(inner)
                if _reaches(named[inner], name, named, seen):
                    return True
        elif _reaches(inner, name, named, seen):
            return True
    return False
