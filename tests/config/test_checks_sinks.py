"""What a sink cannot do is refused at check time: with its line, the reason and what to write instead."""

from pathlib import Path

import pytest

from spark_jobs.config import load_project
from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.connections import read_connection
from spark_jobs.config.errors import ConfigError

PIPELINE = """\
pipeline: shop
sources: {orders: {format: json, path: orders}}
dimensions:
  members: {from: orders, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at, history: scd2}
silver:
  orders: {from: orders, key: id, sequence_by: v, columns: {id: bigint, v: int, at: timestamp, tags: array<string>}}
  log: {from: orders, columns: {id: bigint, at: timestamp}, event_time: at}
  looked: {from: orders, columns: {id: bigint, at: timestamp}, lookup: {members: {on: id, as_of: at, take: city}}}
  people: {from: orders, key: id, sequence_by: v, columns: {id: bigint, v: int, mail: {type: string, sensitive: true}}}
gold:
  hours: {from: silver.log, window: {size: 1 hour}, measures: {n: count(*)}}
  closed: {from: silver.log, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour, emit: append, late: keep}
  repaired: {from: silver.log, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour, emit: append}
  total: {sql: sql/total.sql}
sinks:
"""
GOOD = (
    "{from: silver.log, to: files, format: parquet, path: log}",
    "{from: silver.orders, to: files, format: json, path: log, operation: op}",
    (
        "{from: silver.orders, to: files, format: csv, path: log, mode: complete, columns: [id, at],"
        " formulas: neutralise}"
    ),
    '{from: silver.orders, to: kafka, servers: "a:9092,b:9092", topic: orders}',
    '{from: silver.log, to: kafka, servers: "a:9092", topic: log, mode: append, key: id}',
    "{from: silver.people, to: jdbc, connection: w, table: people, columns: [id, mail]}",
    "{from: dimension.members, to: jdbc, connection: w, table: crm.members}",
    "{from: gold.hours, to: jdbc, connection: w, table: hours}",
    "{from: gold.closed, to: files, format: parquet, path: closed}",
    "{from: gold.total, to: jdbc, connection: w, table: total, key: n}",
    "{from: gold.total, to: memory}",
    "{from: silver.people, to: console}",
    "{from: silver.looked, to: memory, mode: append, operation: op}",
    "{from: gold.hours, to: python, function: 'hooks/push.py:send', per: row}",
)
# the sink, the key that is named, part of the message, part of the hint
REFUSED = {
    "append of a table with a key": (
        "{from: silver.orders, to: files, format: parquet, path: x}",
        "mode", "whose rows change: a newer version of a id replaces", "operation: <column>",
    ),
    "append of windows that are replaced": (
        "{from: gold.hours, to: files, format: parquet, path: x}", "mode", "a window is replaced", "mode: complete",
    ),
    "append of windows that are reopened": (
        "{from: gold.repaired, to: files, format: parquet, path: x}", "mode", "late: repair", "operation",
    ),
    "append of rows that members correct": (
        "{from: silver.looked, to: jdbc, connection: w, table: x, mode: append}", "mode", "when a member of members changes", "complete",
    ),
    "append of a table made as a whole": (
        "{from: gold.total, to: jdbc, connection: w, table: x, mode: append}", "mode", "made as a whole", "mode: complete",
    ),
    "update of files": (
        "{from: silver.orders, to: files, format: parquet, path: x, mode: update}",
        "mode", "cannot be changed in its middle", "to: jdbc",
    ),
    "complete into a topic": (
        '{from: silver.orders, to: kafka, servers: "a:1", topic: t, mode: complete}', "mode", "cannot be replaced", "mode: update",
    ),
    "complete by single rows": (
        "{from: silver.orders, to: python, function: 'hooks/push.py:send', per: row, mode: complete}",
        "mode", "cannot know where a new whole table begins", "per: batch",
    ),
    "update without a key": (
        "{from: silver.log, to: jdbc, connection: w, table: x}", "mode", "whose rows have no key", "mode: append",
    ),
    "update of computed rows without a key": (
        "{from: gold.total, to: jdbc, connection: w, table: x}", "mode", "whose rows have no key", "add key: <columns",
    ),
    "another key than the table's": (
        "{from: silver.orders, to: jdbc, connection: w, table: x, key: v}", "key", "not that of silver.orders, id", "remove key",
    ),
    "columns without the key": (
        "{from: silver.orders, to: jdbc, connection: w, table: x, columns: [v]}", "columns", "the key column 'id'", "add id",
    ),
    "an operation of an update": (
        "{from: silver.orders, to: jdbc, connection: w, table: x, operation: op}", "operation", "incompatible with mode: update", "append",
    ),
    "an operation that is a column": (
        "{from: silver.orders, to: files, format: json, path: x, operation: v}", "operation", "has a column 'v' already", "another name",
    ),
    "a nested column in csv": (
        "{from: silver.orders, to: files, format: csv, path: x, mode: complete}", "format", "'tags' is array<string>", "format: json",
    ),
    "sensitive values that nobody named": (
        "{from: silver.people, to: jdbc, connection: w, table: x}", "", "declared sensitive: mail", "columns",
    ),
    "a column that is not there": (
        "{from: silver.log, to: files, format: json, path: x, columns: [idd]}", "columns", "no column 'idd'", "'id'",
    ),
    "bronze": ("{from: bronze.orders, to: console}", "from", "bronze holds raw records", "silver.orders"),
    "a table of another pipeline": ("{from: retail.silver.orders, to: console}", "from", "belongs to another pipeline", "retail.yml"),
    "a table that is not there": ("{from: silver.ordres, to: console}", "from", "no table 'silver.ordres'", "'silver.orders'"),
    "a path out of the root": ("{from: silver.log, to: files, format: json, path: ../x}", "path", "not a path below the root", "relative"),
    "a table with SQL in its name": (
        "{from: silver.orders, to: jdbc, connection: w, table: 'x;drop'}", "table", "not a table of a database", "lower-case",
    ),
    "a topic with a blank": ('{from: silver.orders, to: kafka, servers: "a:1", topic: "a b"}', "topic", "not a topic", "letters"),
    "a secret in the file": (
        '{from: silver.orders, to: kafka, servers: "a:1", topic: t, options: {sasl.jaas.config: x}}', "options",
        "is a secret", "settings_file",
    ),
    "formulas of parquet": (
        "{from: silver.log, to: files, format: parquet, path: x, formulas: neutralise}", "formulas", "incompatible with format", "csv",
    ),
    "a function that is not there": (
        "{from: silver.orders, to: python, function: 'hooks/push.py:sned'}", "function", "no function in conf/hooks/push.py", "'send'",
    ),
    "a function with one parameter": (
        "{from: silver.orders, to: python, function: 'hooks/push.py:one'}", "function", "cannot be called with two", "line",
    ),
    "a hook that is elsewhere": (
        "{from: silver.orders, to: python, function: 'sql/push.py:one'}", "function", "does not have the right form", "conf/hooks",
    ),
    "no such sink": ("{from: silver.orders, to: ftp}", "", "'ftp' is not a sink", "files, kafka"),
    "no kind": ("{from: silver.orders}", "", "'to' is missing", "files"),
    "a key of another kind": ("{from: silver.orders, to: console, topic: x}", "topic", "the key 'topic' is unknown", "rows"),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conf" / "pipelines").mkdir(parents=True)
    (tmp_path / "conf" / "profiles").mkdir()
    (tmp_path / "conf" / "lakehouse.yml").write_text("landing: landing\nlake: lake\n")
    (tmp_path / "conf" / "profiles" / "local.yml").write_text("master: local[2]\n")
    for file, text in (("sql/total.sql", "SELECT count(*) AS n FROM silver.log\n"), ("hooks/push.py", HOOK)):
        (tmp_path / "conf" / file).parent.mkdir()
        (tmp_path / "conf" / file).write_text(text)
    return tmp_path


HOOK = "def send(rows, batch):\n    pass\n\ndef one(rows):\n    pass\n"


def problems(root: Path, *sinks: str) -> list[tuple[str, str, str]]:
    lines = "".join(f"  s{number}: {sink}\n" for number, sink in enumerate(sinks))
    (root / "conf" / "pipelines" / "shop.yml").write_text(PIPELINE + lines)
    return [(problem.where, problem.message, problem.hint) for problem in check_folder(root, {})]


@pytest.mark.parametrize("sink", GOOD)
def test_what_can_work_is_taken(project: Path, sink: str) -> None:
    assert problems(project, sink) == []


@pytest.mark.parametrize(("sink", "key", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused(project: Path, sink: str, key: str, message: str, hint: str) -> None:
    [(where, said, way)] = problems(project, sink)

    assert where.startswith(f"sinks.s0.{key}" if key else "sinks.s0")
    assert message in said
    assert hint in way


KINDS = {
    "files": "to: files, format: parquet, path: {name}",
    "kafka": 'to: kafka, servers: "a:1", topic: {name}',
    "jdbc": "to: jdbc, connection: w, table: {name}",
    "batch": "to: python, function: 'hooks/push.py:send'",
    "row": "to: python, function: 'hooks/push.py:send', per: row",
    "console": "to: console",
    "memory": "to: memory",
}
GROWING = ("silver.log", "gold.closed")
KEYED = ("silver.orders", "dimension.members", "gold.hours", "gold.repaired", "gold.closed")
TABLES = (*GROWING, *KEYED[:-1], "silver.looked", "gold.total")
NEVER = {("files", "update"), ("kafka", "complete"), ("row", "complete")}


def test_every_combination_of_sink_mode_and_table_works_or_is_refused_with_a_reason(project: Path) -> None:
    """As the two tables of docs/sinks.md say."""
    combinations = [
        (kind, mode, table)
        for kind in KINDS
        for mode in ("append", "changes", "update", "complete")
        for table in TABLES
    ]
    lines = []
    for number, (kind, mode, table) in enumerate(combinations):
        how = "mode: append, operation: op" if mode == "changes" else f"mode: {mode}"
        lines.append(f"{{from: {table}, {KINDS[kind].format(name=f'place_{number}')}, {how}}}")

    found = {where.split(".")[1]: (message, hint) for where, message, hint in problems(project, *lines)}

    for number, (kind, mode, table) in enumerate(combinations):
        works = {"append": table in GROWING, "changes": True, "update": table in KEYED, "complete": True}[
            mode
        ]
        refused = found.get(f"s{number}")
        assert (refused is None) == (works and (kind, mode) not in NEVER), (kind, mode, table, refused)
        assert refused is None or ("incompatible with" in refused[0] and "write" in refused[1]), refused


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "{from: silver.log, to: files, format: json, path: a}",
            "{from: silver.log, to: files, format: json, path: a/b}",
        ),
        (
            "{from: silver.orders, to: jdbc, connection: w, table: a}",
            "{from: silver.orders, to: jdbc, connection: w, table: a}",
        ),
        (
            '{from: silver.orders, to: kafka, servers: "a:1", topic: t}',
            '{from: silver.orders, to: kafka, servers: "a:1", topic: t}',
        ),
    ],
)
def test_two_sinks_do_not_write_to_one_place(project: Path, one: str, other: str) -> None:
    [(where, said, _)] = problems(project, one, other)

    assert where == "sinks.s1"
    assert "write to the same place" in said


def test_sinks_of_two_pipelines_do_not_write_to_one_place(project: Path) -> None:
    problems(project, "{from: silver.orders, to: jdbc, connection: w, table: public.orders}")
    first = (project / "conf" / "pipelines" / "shop.yml").read_text()
    second = first.replace("pipeline: shop", "pipeline: other").replace(
        "table: public.orders", "table: orders"
    )
    (project / "conf" / "pipelines" / "other.yml").write_text(second.replace("path: orders", "path: others"))

    [problem] = check_folder(project, {})

    assert problem.file == "conf/pipelines/shop.yml"
    assert "shop.sinks.s0 and other.sinks.s0 write to the same place" in problem.message


def test_a_pipeline_says_which_jars_its_sinks_need(project: Path) -> None:
    problems(project, GOOD[3], GOOD[5])

    assert load_project(project, {}).pipelines["shop"].components == {"kafka", "postgres"}


def test_a_connection_comes_from_its_file_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "connections.yml").write_text(
        'warehouse: {url: "jdbc:postgresql://db:5432/shop", user: weir, password_file: warehouse.password}\n'
    )
    password = tmp_path / "secrets" / "warehouse.password"
    password.write_text("open sesame\n")
    with pytest.raises(ConfigError, match="others may read") as refused:
        read_connection(tmp_path, "warehouse", {})
    password.chmod(0o600)

    found = read_connection(tmp_path, "warehouse", {"WEIR_CONNECTION_WAREHOUSE_USER": "other"})

    assert (found.url, found.user, found.password) == (
        "jdbc:postgresql://db:5432/shop",
        "other",
        "open sesame",
    )
    assert "sesame" not in repr(found) + str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('w: {url: "jdbc:postgresql://weir:open@db/shop"}', "not an address alone"),
        ('w: {url: "jdbc:postgresql://db/shop?password=open"}', "not an address alone"),
        ("v: {user: weir}", "there is no connection 'w'"),
        ("w: {password_file: none}", "there is no file 'none'"),
    ],
)
def test_a_connection_that_cannot_be_used_is_refused_without_its_secret(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "connections.yml").write_text(f"{text}\n")

    with pytest.raises(ConfigError) as refused:
        read_connection(tmp_path, "w", {})

    assert said in str(refused.value)
    assert "open" not in str(refused.value)
    assert "open" not in repr(refused.value)


def test_an_address_in_the_environment_is_refused_by_its_variable_without_its_secret(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        read_connection(tmp_path, "w", {"WEIR_CONNECTION_W_URL": "jdbc:postgresql://weir:open@db/shop"})

    assert "WEIR_CONNECTION_W_URL: the url is not an address alone" in str(refused.value)
    assert "open" not in str(refused.value)
