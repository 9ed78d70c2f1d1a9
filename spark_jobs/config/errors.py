"""What a command refuses before it begins: a configuration with problems, one Problem per mistake with its
place; or a command line that cannot be meant.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

# What people who come from SQL databases, dbt, pandas or other tools would write, and what it is called here.
# Only for suggestions.

_WORDS = {
    # types
    "string": (
        "text str char character varchar varchar2 nvarchar nchar bpchar citext tinytext mediumtext longtext"
        " clob nclob json jsonb uuid guid enum object category categorical utf8 large_string largeutf8 bytes"
        " bytea blob varbinary inet xml hstore super time"
    ),
    "decimal(p,s)": "numeric number bignumeric bigdecimal dec money smallmoney currency decimal128 fixed",
    "bigint": (
        "int64 uint32 uint64 bigserial serial8 serial longint long_int biginteger number_integer counter"
        " epoch"
    ),
    "int": "int32 int4 uint16 mediumint signed unsigned",
    "smallint": "int16 int2 uint8 smallserial",
    "double": "float64 float8 double_precision number_float",
    "float": "float32 float4 float16 half single",
    "boolean": "bool bit logical flag",
    "timestamp": (
        "datetime datetime2 datetime64 smalldatetime timestamptz timestamp_tz timestamp_ns timestamp_ms"
        " timestamp_us instant"
    ),
    "date": "date32 date64 day",
    "array<type>": "list sequence vector tuple repeated",
    "map<type,type>": "dict dictionary hashmap mapping",
    "struct<name:type>": "record row nested",
    # keys
    "key": (
        "primary_key primary_keys unique_key unique pk id ids merge_key merge_keys upsert_key business_key"
        " natural_key identity index"
    ),
    "sequence_by": (
        "updated_at version version_column order_by sort_by cursor cursor_field sequence precombine"
        " dedup_sort incremental_key"
    ),
    "event_time": "timestamp time_column event_timestamp ts occurred_at time timestamp_column",
    "from": "source table input ref model base dataset",
    "columns": "schema fields select cols attributes features",
    "where": "filter condition predicate having query",
    "lookup": "join joins enrich lookups dimensions ref_tables",
    "delete_when": "delete deletes hard_delete soft_delete is_deleted tombstone",
    "snapshot": "full_snapshot full_load full_dump invalidate_hard_deletes snapshots",
    "explode": "unnest flatten flatten_list lateral",
    "history": "scd scd_type strategy versioning snapshot",
    "group_by": "groupby by group dimensions keys",
    "measures": "aggregates aggregations metrics agg select facts",
    "window": "tumbling interval time_window bucket granularity",
    "size": "length duration width every",
    "gap": "session timeout session_gap",
    "slide": "step hop every",
    "watermark": "lateness allowed_lateness late_after grace",
    "emit": "output_mode mode outputmode materialized",
    "sql": "query statement expression expr formula",
    "required": "not_null notnull nullable mandatory is_required",
    "sensitive": "pii secret private masked confidential",
    "type": "data_type dtype datatype kind",
    "path": "folder directory dir location uri url prefix",
    "pattern": "glob file_pattern include files filter file_glob",
    "format": "type kind file_format file_type",
    "delimiter": "sep separator field_delimiter",
    "header": "headers column_names has_header header_row field_names names",
    "skip_lines": "skip_rows skiprows skip header_lines skip_leading_rows skip_header preamble",
    "comment": "comments comment_char comment_prefix",
    "quote": "quotechar quote_char quotes",
    "escape": "escapechar escape_char",
    "trailing_delimiter": "trailing_comma trailing_delimiters trailing_separator",
    "schedule": "cron schedule_interval trigger timetable interval",
    "pipeline": "name pipeline_name",
    "sources": "source inputs landing bronze raw",
    "dimensions": "dimension dims",
    "silver": "staging facts fact tables cleaned",
    "gold": "marts mart aggregates reports",
    "sinks": "sink outputs exports destinations targets",
    "owner": "maintainer team author",
    "description": "desc comment summary",
    "topic": "topics subject queue",
    "servers": "brokers bootstrap_servers hosts broker",
    "row_tag": "rowtag tag element row",
    # values
    "json": "ndjson jsonl jsonlines json_lines",
    "csv": "tsv excel delimited",
    "text": "txt log lines plain",
    "scd1": "type1 scd_1 overwrite",
    "scd2": "type2 scd_2 snapshot",
    "update": "upsert merge",
    "append": "insert insert_only",
    "complete": "full overwrite truncate",
    "quarantine": "reject drop remove row",
    "block": "fail error stop abort raise",
    "tag": "mark flag annotate label",
    "warn": "warning ignore continue",
}
SYNONYMS: dict[str, list[str]] = {}
"""Each word with what it may be called here; which of them is meant, the place decides
where the word stands.
"""
for _here, _others in _WORDS.items():
    for _word in _others.split():
        SYNONYMS.setdefault(_word, []).append(_here)


LISTED = 30


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """A hint for a value that is not among the allowed ones: the nearest of them, and the list."""
    choices = list(dict.fromkeys(allowed))
    if not choices:
        return "there are none to choose from"
    near = nearest(value, choices)
    listed = ", ".join(choices[:LISTED]) + (
        f" and {len(choices) - LISTED} more" if len(choices) > LISTED else ""
    )
    return (f"did you mean {near!r}? " if near else "") + f"allowed: {listed}"


def nearest(value: str, choices: Iterable[str]) -> str | None:
    """The choice that a misspelt value was meant for, or one of another tool's words; a table may be named
    without its layer.
    """
    by_lower = {choice.lower(): choice for choice in choices}
    for word in (value.lower(), _plain_word(value)):
        if known := [by_lower[here] for here in SYNONYMS.get(word, ()) if here in by_lower]:
            return known[0]
    found = difflib.get_close_matches(value.lower(), by_lower, n=1, cutoff=0.6)
    if not found:
        by_tail = {lower.rpartition(".")[2]: choice for lower, choice in reversed(by_lower.items())}
        tails = difflib.get_close_matches(value.lower().rpartition(".")[2], by_tail, n=1, cutoff=0.75)
        return by_tail[tails[0]] if tails else None
    return by_lower[found[0]]


def _plain_word(value: str) -> str:
    """As words are written here, and without what stands in brackets: primaryKey, primary-key, number(10)."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", value.partition("(")[0])
    return re.sub(r"[\s-]+", "_", words.strip()).lower()


@dataclass(frozen=True)
class Problem:
    """One mistake: its file (relative to the project), line and key path, the value found there, and what to
    do.
    """

    file: str
    line: int
    where: str
    value: object
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: {self.where + ': ' if self.where else ''}"
        return f"{place}{self.message}" + (f"\n    {self.hint}" if self.hint else "")


class Hinted(ValueError):
    """A value that cannot be used: what is wrong with it, and apart from that what to do, since a value may
    hold any mark between them.
    """

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        super().__init__(f"{message}; {hint}")


class Withheld(Hinted):
    """The same of a value that is, or holds, a secret: nobody is shown it."""


class Refused(Exception):
    """What a command was given cannot be used, and nothing was begun: it ends with exit code 2."""

    status = "config_error"
    """What the command's JSON says."""

    @property
    def said(self) -> str:
        """For a person, after `error: `."""
        return str(self)


class UsageError(Refused):
    """A mistake on the command line; the files of the project have nothing to do with it.

    `where` is the option or argument, as in --select or TABLE, `value` what it got.
    """

    status = "usage_error"

    def __init__(self, where: str, value: object, message: str, hint: str = "") -> None:
        self.where, self.value, self.message, self.hint = where, value, message, hint
        super().__init__(f"{where}: {message}" + (f"\n    {hint}" if hint else ""))


class ConfigError(Refused):
    """The configuration cannot be used; `problems` says why, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set_aside_repeats(problems), key=lambda problem: (problem.file, problem.line))
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @property
    def said(self) -> str:
        return f"the configuration cannot be used\n{self}"


def set_aside_repeats(problems: Iterable[Problem]) -> list[Problem]:
    """The problems without those that say the same of the same place (values need not be hashable)."""
    return list(
        {
            (problem.file, problem.line, problem.where, problem.message): problem for problem in problems
        }.values()
    )


# Collects the problems that the checks of one pipeline find, each with the line of its key.
