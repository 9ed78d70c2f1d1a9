"""What a person may ask in SQL: one SELECT over tables of the lake, and nothing that reaches beyond them.

DuckDB's own parser says what a query names, so that it cannot be read in two ways. Its settings keep files,
the network and other databases out as well (engine.py).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_jobs.config.errors import UsageError
from spark_jobs.config.names import SIDES
from spark_jobs.lake.delta_table import quoted
from spark_jobs.lake.snapshot import Version
from spark_jobs.look.names import TableRef, known_version, unknown_table

if TYPE_CHECKING:
    import duckdb

WHERE = "SQL"
TABLE_FUNCTIONS = ("range", "generate_series", "unnest")
"""The only functions in the place of a table: others read files, other databases or what DuckDB knows."""
ASIDE = (
    r"""--[^\n]* | /\*.*?\*/ | [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
)
WORD = r'(?:[A-Za-z_]\w*|"(?:[^"]|"")+")'
TOKENS = re.compile(
    rf"""{ASIDE}
    | (?<![\w."]) (?P<name>{WORD}(?:\s*\.\s*{WORD})+|{WORD})
      (?:@(?P<at>v?\d[\w:.+-]*|'[^']*'))?""",
    re.VERBOSE | re.DOTALL,
)
"""What stands aside, in comments and texts, and names, with the version that is asked of one."""


Path = tuple[str, ...]
"""Catalog, schema and table."""


@dataclass(frozen=True)
class Named:
    """A table that a query reads, and how its text calls it."""

    ref: TableRef
    at: Version | None
    place: Path
    written: str = ""


@dataclass(frozen=True)
class Question:
    """A query as DuckDB gets it, and the tables that it reads, by their places."""

    sql: str
    tables: tuple[Named, ...]


def read_question(text: str, known: Mapping[str, TableRef], parser: "duckdb.DuckDBPyConnection") -> Question:
    """UsageError for all that is no query over these tables."""
    named: dict[Path, Named] = {}

    def place(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0]
        found = _resolve(_parts(match["name"]), known)
        if found is None:
            if match["at"] is not None:
                raise _unknown(".".join(_parts(match["name"])), known)
            return match[0]
        ref, rest = found
        at = known_version(match["at"].strip("'"), WHERE) if match["at"] else None
        table = _place(ref, match["at"])
        named[table] = Named(
            ref, at, table, f"{ref.full_name}@{match['at']}" if match["at"] else ref.full_name
        )
        return ".".join(map(quoted, (*table, *rest)))

    sql = TOKENS.sub(place, text.strip().rstrip(";"))
    read = dict.fromkeys(_tables_in(_parse(sql, parser)))
    if strange := next((path for path in read if path not in named), None):
        raise _unknown(".".join(strange), known)
    return Question(sql, tuple(named[path] for path in read))


def _parts(name: str) -> list[str]:
    return [part.strip('"').replace('""', '"') for part in re.findall(WORD, name)]


def _resolve(parts: list[str], known: Mapping[str, TableRef]) -> tuple[TableRef, list[str]] | None:
    """The table that the first words name, the longest that is one, and the columns after it."""
    for length in range(len(parts), 1, -1):
        if ref := known.get(".".join(parts[:length]).lower()):
            return ref, parts[length:]
    return None


def _place(ref: TableRef, at: str | None) -> Path:
    """Its last word stays the table's, as which the query may call its columns. DuckDB has databases of its
    own that are called temp and system, and so may a pipeline be.
    """
    *layers, table = ref.name.split(".")
    aside = layers[0] if layers[0] in SIDES else ""
    catalog = " ".join(part for part in ("lake", ref.pipeline.name, aside, at or "") if part)
    return catalog, layers[-1], table


def _parse(sql: str, parser: "duckdb.DuckDBPyConnection") -> Any:
    """The query as DuckDB reads it; UsageError for what is not one SELECT."""
    [found] = parser.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0]
    tree = json.loads(found)
    if tree["error"]:
        if tree["error_type"] == "not implemented":
            raise UsageError(
                WHERE, sql, "this is not a SELECT", "only queries are run: nothing can be changed"
            )
        message = " ".join(str(tree["error_message"]).split())
        raise UsageError(WHERE, sql, f"it cannot be read: {message}", "write one SELECT, as DuckDB has it")
    if len(tree["statements"]) != 1:
        number = len(tree["statements"])
        raise UsageError(WHERE, sql, f"these are {number} statements", "write one SELECT")
    return tree["statements"][0]


def _tables_in(tree: Any) -> Iterator[Path]:
    """The tables that the query reads, as DuckDB reads their names; UsageError for what else is read."""
    own = {entry["key"].lower() for node in _nodes(tree) for entry in _ctes(node)}
    for node in _nodes(tree):
        kind = node.get("type")
        if kind == "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", "")).lower()
            if name not in TABLE_FUNCTIONS:
                message = f"the function {name} may not stand in the place of a table"
                raise UsageError(
                    WHERE, name, message, f"allowed are {', '.join(TABLE_FUNCTIONS)}, and tables"
                )
        elif kind == "SHOW_REF" and node.get("query") is None:
            message = "SHOW tells of DuckDB's own catalog"
            raise UsageError(
                WHERE, "SHOW", message, "`weir show` lists the tables; DESCRIBE and SUMMARIZE work"
            )
        elif kind == "BASE_TABLE":
            path = tuple(node["qualified_name"]["path"])
            if node.get("at_clause"):
                hint = "write the version behind the name, as in retail.silver.orders@v3"
                raise UsageError(WHERE, ".".join(path), "AT is not how a version is asked for", hint)
            if len(path) != 1 or path[0].lower() not in own:
                yield path


def _ctes(node: dict[str, Any]) -> list[dict[str, Any]]:
    ctes = node.get("cte_map")
    return ctes["map"] if isinstance(ctes, dict) else []


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _unknown(name: str, known: Mapping[str, TableRef]) -> UsageError:
    return unknown_table({ref.full_name: ref for ref in known.values()}, name, WHERE)
