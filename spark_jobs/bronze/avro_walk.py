"""How long a row of Avro is, found without making its values. Needed for what a small file can hide: rows without end, arrays of a
billion items that take no bytes, types within themselves, which fastavro follows until the stack ends and the process dies.
"""

from dataclasses import dataclass
from typing import Any

from spark_jobs.bronze.arrived import UnreadableFile

DEEPEST = 100
FIXED_BYTES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
EMPTY_ITEM = 4
"""What an item that takes no bytes counts for: it is a `null` in the record."""
PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
LONGEST_NUMBER = 10


@dataclass(frozen=True)
class Walker:
    """`named`: the types of the schema by name. `is_harmless`: no row can be deeper or larger than its bytes say."""

    schema: Any
    named: dict[str, Any]
    is_harmless: bool
    may_be_empty: bool

    def walk(self, block: bytes, start: int) -> tuple[int, int]:
        """Where the row ends that begins there, and how long it is; never longer than the time that its bytes take."""
        row = _Row(self.named, block, start)
        row.skip(self.schema, 0)
        return row.at, row.at - start + row.more


def make_walker(schema: Any) -> Walker:
    """UnreadableFile where the schema itself is nested too deeply."""
    named: dict[str, Any] = {}
    _collect(schema, named, 0)
    is_recursive = any(_reaches(named[name], name, named, set()) for name in named)
    hides = any(_takes_no_bytes(items, named, ()) for items in _all_items(schema, 0))
    may_be_empty = _takes_no_bytes(schema, named, ())
    return Walker(schema, named, not (is_recursive or hides or may_be_empty), may_be_empty)


class _Row:
    def __init__(self, named: dict[str, Any], block: bytes, at: int) -> None:
        self.named, self.block, self.at, self.more = named, block, at, 0

    def skip(self, schema: Any, depth: int) -> None:
        if depth > DEEPEST:
            raise UnreadableFile(f"a row is nested more than {DEEPEST} deep")
        if isinstance(schema, list):
            schema = self._branch(schema)
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null" | "boolean" | "float" | "double":
                self._move(FIXED_BYTES[kind])
            case "int" | "long" | "enum":
                self._number()
            case "bytes" | "string":
                self._move(self._number())
            case "fixed":
                self._move(schema["size"])
            case "record" | "error":
                for field in schema["fields"]:
                    self.skip(field["type"], depth + 1)
            case "array":
                self._skip_items(schema["items"], depth, has_keys=False)
            case "map":
                self._skip_items(schema["values"], depth, has_keys=True)
            case _:
                self.skip(self.named[kind] if isinstance(kind, str) else kind, depth + 1)

    def _branch(self, union: list[Any]) -> Any:
        number = self._number()
        if not 0 <= number < len(union):
            raise UnreadableFile("not a whole Avro file: a value is of no type of its union")
        return union[number]

    def _skip_items(self, items: Any, depth: int, *, has_keys: bool) -> None:
        is_empty = not has_keys and _takes_no_bytes(items, self.named, ())
        while count := self._number():
            if count < 0:
                count = -count
                self._number()
            if is_empty:
                self.more += count * EMPTY_ITEM
                continue
            for _ in range(count):
                if has_keys:
                    self._move(self._number())
                self.skip(items, depth + 1)

    def _move(self, size: int) -> None:
        self.at += size
        if size < 0 or self.at > len(self.block):
            raise UnreadableFile("not a whole Avro file: a value goes beyond its block")

    def _number(self) -> int:
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
    if isinstance(schema, dict) and schema.get("name") is not None and schema["type"] in ("record", "error", "fixed", "enum"):
        named[schema["name"]] = schema
    for inner in _inner(schema):
        _collect(inner, named, depth + 1)


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


def _all_items(schema: Any, depth: int) -> list[Any]:
    own = [schema["items"]] if isinstance(schema, dict) and schema["type"] == "array" else []
    return own + [items for inner in _inner(schema) for items in _all_items(inner, depth + 1)]


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


def _takes_no_bytes(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> bool:
    if isinstance(schema, list):
        return False
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "null":
        return True
    if kind == "fixed":
        return bool(schema["size"] == 0)
    if kind in ("record", "error"):
        name = schema["name"]
        return name not in within and all(_takes_no_bytes(field["type"], named, (*within, name)) for field in schema["fields"])
    if isinstance(kind, str):
        return kind in named and _takes_no_bytes(named[kind], named, within)
    return _takes_no_bytes(kind, named, within)
