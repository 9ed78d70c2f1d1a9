"""Each mistake that a single file of valid shape can still contain is refused with its line, its value and
what to do.
"""

from pathlib import Path

import pytest

from spark_jobs.config import load_project
from spark_jobs.config.checks.project import check_folder, check_project
from tests.config.conftest import Workspace

Case = tuple[str, str, str, object, str, str]
ROOT = Path(__file__).resolve().parents[2]

# old text, new text, text of the line that is named, the value, part of the message, part of the hint
STRUCTURE: dict[str, Case] = {
    "a key without a value": (
        "    key: order_id\n",
        "    key:\n",
        "key:",
        None,
        "nothing stands behind 'key'",
        "give it a value, or remove it",
    ),
    "an address as a folder": (
        "path: shop/orders",
        "path: s3a://bucket/orders",
        "s3a:",
        "s3a://bucket/orders",
        "a place of its own",
        "WEIR_LANDING",
    ),
    "a folder of somebody's own": (
        "path: shop/orders",
        "path: ~/orders",
        "~/orders",
        "~/orders",
        "a place of its own",
        "below the root",
    ),
    "a pattern as a folder": (
        "path: shop/orders",
        "path: shop/*.json",
        "orders:",
        "shop/*.json",
        "'path' names a folder",
        "pattern: '*.json'",
    ),
    "a column of bronze from a header": (
        "      city: string\n      changed_at",
        "      city: {type: string, from: _chunk}\n      changed_at",
        "from: _chunk",
        "_chunk",
        "'_chunk' is no column of a csv file",
        "a column of files takes _file",
    ),
    "a place of a message from a header": (
        "      city: string\n      changed_at",
        "      city: {type: string, from: _offset}\n      changed_at",
        "from: _offset",
        "_offset",
        "'_offset' is no column of a csv file",
        "messages alone have _key",
    ),
    "an unknown source": (
        "from: orders\n    columns:",
        "from: order\n    columns:",
        "from: order",
        "order",
        "no source 'order'",
        "did you mean 'orders'?",
    ),
    "nested landing folders": (
        "path: shop/regions",
        "path: shop/orders/regions",
        "regions:",
        "shop/orders/regions",
        "same files",
        "folder of its own",
    ),
    "the same landing folder": (
        "path: shop/regions",
        "path: shop/orders",
        "regions:",
        "shop/orders",
        "same files",
        "different patterns",
    ),
    "a delimiter of json": (
        "{format: json,",
        '{format: json, delimiter: ";",',
        "orders:",
        ";",
        "incompatible with format: json",
        "use format: csv",
    ),
    "a quote between fields": (
        "customers: {format: csv,",
        "customers: {format: csv, delimiter: '\"',",
        "delimiter",
        '"',
        "cannot part fields",
        "between the fields of its files",
    ),
    "names that differ in case": (
        "      paid_at:",
        "      Version: int\n      paid_at:",
        " version: int",
        "version",
        "differ only in case",
        "rename one",
    ),
    "a value that is also an object": (
        "      paid_at:",
        "      payment: string\n      paid_at:",
        "amount:",
        "payment.amount",
        "is a field of it",
        "struct",
    ),
    "paths that differ in case": (
        "      paid_at:",
        "      vat: {type: int, from: VERSION}\n      paid_at:",
        " version:",
        "version",
        "case",
        "keep one",
    ),
    "a path with an empty part": (
        "from: payment.amount",
        "from: payment..amount",
        "amount:",
        "payment..amount",
        "not a path",
        "single dots",
    ),
    "a field of text": (
        "{type: string, from: value}",
        "string",
        "line: string",
        "line",
        "no field 'line', only 'value'",
        "from: value",
    ),
    "explode of text": (
        "from: logs\n",
        "from: logs\n    explode: items\n",
        "explode",
        "items",
        "incompatible with format: text",
        "json or parquet",
    ),
    "explode of a column": (
        "      country: string\n",
        "      country: string\n      all: {type: string, from: items}\n",
        "all:",
        "items",
        "is a field of it",
        "",
    ),
}
KEYS: dict[str, Case] = {
    "a missing key column": (
        "key: order_id",
        "key: order",
        "key: order",
        "order",
        "no column 'order'",
        "did you mean 'order_id'?",
    ),
    "a complex key": ("key: order_id", "key: tags", "key: tags", "tags", "cannot be compared", "simple type"),
    "a key that stands twice": (
        "key: order_id",
        "key: [order_id, order_id]",
        "key:",
        "order_id",
        "twice in the key",
        "keep one",
    ),
    "a missing sequence": (
        "sequence_by: version\n    event",
        "sequence_by: versoin\n    event",
        "versoin",
        "versoin",
        "no column",
        "'version'",
    ),
    "a sequence without key": (
        "    key: order_id\n",
        "",
        "sequence_by: version",
        "version",
        "incompatible with a table without key",
        "add the key",
    ),
    "a missing event time": (
        "event_time: ordered_at",
        "event_time: order_at",
        "event_time",
        "order_at",
        "no column",
        "'ordered_at'",
    ),
    "an event time that is a date": (
        "event_time: ordered_at",
        "event_time: shipped_on",
        "event_time",
        "shipped_on",
        "is date, not timestamp",
        "declare",
    ),
    "scd2 by a number": (
        "sequence_by: changed_at",
        "sequence_by: customer_id",
        "sequence_by",
        "customer_id",
        "is bigint",
        "history: scd1",
    ),
    "a missing dimension sequence": (
        "sequence_by: changed_at",
        "sequence_by: changed",
        "changed",
        "changed",
        "no column",
        "'changed_at'",
    ),
}
DELETES: dict[str, Case] = {
    "a delete without key": (
        "    explode: items\n",
        "    explode: items\n    delete_when: sku = 'x'\n",
        "delete_when",
        "sku = 'x'",
        "'delete_when' is incompatible with a table without key",
        "add the key",
    ),
    "a missing column": (
        "    where: amount >= 0",
        "    delete_when: op = 'D'",
        "delete_when",
        "op = 'D'",
        "no column 'op'",
        "allowed: order_id",
    ),
    "a missing column of a dimension": (
        "    sequence_by: changed_at",
        "    sequence_by: changed_at\n    delete_when: op = 'D'",
        "delete_when",
        "op = 'D'",
        "no column 'op'",
        "allowed: customer_id",
    ),
    "a column that a lookup takes": (
        "    where: amount >= 0",
        "    delete_when: city IS NULL",
        "delete_when",
        "city IS NULL",
        "no column 'city'",
        "allowed: order_id",
    ),
    "a system column": (
        "    where: amount >= 0",
        "    delete_when: _processed_at > ordered_at",
        "delete_when",
        "_processed_at > ordered_at",
        "no column '_processed_at'",
        "allowed: order_id",
    ),
    "the clock": (
        "    where: amount >= 0",
        "    delete_when: ordered_at > now()",
        "delete_when",
        "ordered_at > now()",
        "now may not be used",
        "event time",
    ),
    "chance": (
        "    where: amount >= 0",
        "    delete_when: rand() > 0.5",
        "delete_when",
        "rand() > 0.5",
        "rand may not be used",
        "xxhash64",
    ),
    "an aggregate": (
        "    where: amount >= 0",
        "    delete_when: max(version) > 3",
        "delete_when",
        "max(version) > 3",
        "aggregates rows",
        "one row",
    ),
    "text that does not parse": (
        "    where: amount >= 0",
        "    delete_when: version >",
        "delete_when",
        "version >",
        "does not parse",
        "correct the SQL",
    ),
}
LOOKUPS: dict[str, Case] = {
    "an unknown dimension": (
        "      customers: {on:",
        "      customer: {on:",
        "customer: {",
        "customer",
        "no dimension 'customer'",
        "'customers'",
    ),
    "too few columns": (
        "on: [country, region]",
        "on: country",
        "on: country",
        ["country"],
        "names 1 column,",
        "one column of this table for each",
    ),
    "a missing column of this table": (
        "on: customer_id",
        "on: customer",
        "{on: customer,",
        "customer",
        "no column",
        "'customer_id'",
    ),
    "columns of other types": (
        "{on: customer_id,",
        "{on: paid_at,",
        "on: paid_at",
        "paid_at",
        "is timestamp, but the key",
        "same type",
    ),
    "a column that the dimension lacks": (
        "take: [city]",
        "take: [city, town]",
        "take",
        "town",
        "no column of dimension 'customers'",
        "allowed: customer_id, city",
    ),
    "a name that is taken": (
        "take: [city]",
        "take: [city, customer_id]",
        "take",
        "customer_id",
        "has the name of column 'customer_id' of this",
        "{customer_id: customers_customer_id}",
    ),
    "a name that is taken twice": (
        "take: [city]",
        "take: [city, city]",
        "take",
        "city",
        "has the name of column 'city' of dimension",
        "take it once",
    ),
    "a new name that is taken": (
        "take: [city]",
        "take: [city, {city: order_id}]",
        "take",
        "order_id",
        "taken as 'order_id', has the name of column 'order_id' of this",
        "another name",
    ),
    "a new name for a column that the dimension lacks": (
        "take: [city]",
        "take: [city, {town: place}]",
        "take",
        "town",
        "no column of dimension 'customers'",
        "allowed: customer_id, city",
    ),
    "a new name that is none": (
        "take: [city]",
        "take: [city, {city: customer city}]",
        "take",
        "customer city",
        "not a legal column name",
        "allowed are letters",
    ),
    "as_of that is no timestamp": (
        "take: [city]",
        "take: [city], as_of: shipped_on",
        "as_of",
        "shipped_on",
        "is date, not timestamp",
        "timestamp column",
    ),
    "waiting for what another lookup took": (
        "      customers: {on: customer_id, take: [city]}",
        "      customers: {on: customer_id, take: [city]}\n"
        "      regions: {on: [city, city], take: [manager], if_missing: park}",
        "regions",
        "park",
        "'if_missing: park' is incompatible with a lookup that uses what 'customers' took",
        "write if_missing: unknown; 'customers' may say park",
    ),
    "a dimension that waits for another": (
        "    sequence_by: changed_at",
        "    sequence_by: changed_at\n    lookup: {regions: {on: [city, city], take: manager, if_missing: park}}",
        "if_missing: park",
        "park",
        "'if_missing: park' is incompatible with a lookup of a dimension",
        "write if_missing: unknown",
    ),
    "a dimension that looks itself up": (
        "    sequence_by: changed_at",
        "    sequence_by: changed_at\n    lookup: {customers: {on: customer_id, as_of: changed_at, take: {city: it}}}",
        "lookup: {customers",
        "customers",
        "the dimensions form a ring: customers -> customers",
        "let one of them be without this lookup",
    ),
    "a dimension that looks up history at no time": (
        "    sequence_by: version\nsilver",
        "    sequence_by: version\n    lookup: {customers: {on: version, take: city}}\nsilver",
        "lookup: {customers",
        "customers",
        "nothing says as of which time",
        "let facts look it up",
    ),
    "lookups in a ring": (
        "      customers: {on: customer_id, take: [city]}",
        "      customers: {on: number, take: [city]}\n"
        "      regions: {on: [city, city], take: {version: number}}",
        "customers: {on: number",
        ["number"],
        "'customers' uses what 'regions' takes, 'regions' uses what 'customers' takes",
        "join one of them by columns of this table",
    ),
    "a snapshot whose members are deleted": (
        "    sequence_by: version\nsilver",
        "    sequence_by: version\n    snapshot: true\n    delete_when: manager IS NULL\nsilver",
        "delete_when",
        "manager IS NULL",
        "'delete_when' is incompatible with snapshot",
        "leave such rows out with where",
    ),
    "a snapshot with two times": (
        "    sequence_by: version\nsilver",
        "    sequence_by: [version, manager]\n    snapshot: true\nsilver",
        "sequence_by",
        "version, manager",
        "a snapshot has one time",
        "sequence_by: newest_arrival",
    ),
    "a share that is none": (
        "    sequence_by: version\nsilver",
        "    sequence_by: version\n    snapshot: {may_end: 120%}\nsilver",
        "may_end",
        "120%",
        "'120%' is no share",
        "from 0% to 100%",
    ),
    "as_of of scd1": (
        "        take: manager",
        "        take: manager\n        as_of: x",
        "as_of",
        "x",
        "incompatible with dimension 'regions'",
        "history: scd2",
    ),
    "giving up on what does not wait": (
        "take: [city]",
        "take: [city], give_up_after: 7 days",
        "give_up_after",
        "7 days",
        "'give_up_after' is incompatible with if_missing: unknown: the row is published with NULLs at once",
        "if_missing: park",
    ),
    "giving up on what is quarantined": (
        "take: [city]",
        "take: [city], if_missing: quarantine, give_up_after: 7 days",
        "give_up_after",
        "7 days",
        "'give_up_after' is incompatible with if_missing: quarantine: the row is quarantined at once",
        "if_missing: park",
    ),
    "scd2 without a time": (
        "    lookup:\n      regions:\n        on: [country, region]\n        take: manager",
        "    lookup:\n      customers: {on: order_id, take: [city]}",
        "{on: order_id",
        "customers",
        "nothing says as of which time",
        "add as_of",
    ),
}
EXPRESSIONS: dict[str, Case] = {
    "a missing column": (
        '"amount > 100"',
        '"amont > 100"',
        "is_big",
        "amont > 100",
        "no column 'amont'",
        "did you mean 'amount'?",
    ),
    "columns that are computed from each other": (
        '"amount > 100"}',
        '"NOT is_small"}\n      is_small: {type: boolean, sql: "NOT IS_BIG"}',
        "NOT is_small",
        "NOT is_small",
        "'is_big' is computed from itself: 'is_big' names 'is_small' names 'is_big'",
        "name columns without sql in one of is_big, is_small",
    ),
    "a column that is computed from itself": (
        '"amount > 100"',
        '"is_big OR amount > 100"',
        "is_big",
        "is_big OR amount > 100",
        "'is_big' is computed from itself",
        "a column of its own",
    ),
    "text that does not parse": (
        '"amount > 100"',
        '"amount >"',
        "is_big",
        "amount >",
        "does not parse",
        "correct the SQL",
    ),
    "a statement": (
        '"amount > 100"',
        '"drop table x"',
        "is_big",
        "drop table x",
        "not an expression",
        "one value or condition",
    ),
    "two expressions": (
        '"amount > 100"',
        '"amount; version"',
        "is_big",
        "amount; version",
        "2 statements",
        "exactly one expression",
    ),
    "a subquery": (
        '"amount > 100"',
        '"amount in (select 1)"',
        "is_big",
        "amount in (select 1)",
        "a subquery",
        "lookup",
    ),
    "an alias": (
        '"amount > 100"',
        '"amount > 100 AS big"',
        "is_big",
        "amount > 100 AS big",
        "'big' stands after",
        "its name is the key",
    ),
    "an aggregate": (
        '"amount > 100"',
        '"sum(amount) > 1"',
        "is_big",
        "sum(amount) > 1",
        "aggregates rows",
        "gold table",
    ),
    "a window function": (
        '"amount > 100"',
        '"lag(amount) over (order by version) > 1"',
        "is_big",
        "lag(amount) over (order by version) > 1",
        "other rows",
        "SQL table",
    ),
    "a generator": (
        '"amount > 100"',
        '"explode(tags)"',
        "is_big",
        "explode(tags)",
        "several rows",
        "'explode'",
    ),
    "an unknown function": (
        '"amount > 100"',
        '"abbs(amount) > 1"',
        "is_big",
        "abbs(amount) > 1",
        "no function 'abbs'",
        "did you mean 'abs'?",
    ),
    "a where of a missing column": (
        "where: amount >= 0",
        "where: amont >= 0",
        "where",
        "amont >= 0",
        "no column 'amont'",
        "'amount'",
    ),
    "a where of a taken column": (
        "where: amount >= 0",
        "where: city = 'Rome'",
        "where",
        "city = 'Rome'",
        "no column 'city'",
        "allowed: order_id",
    ),
    "a gold where that is no expression": (
        "where: order_id > 0",
        "where: order_id >",
        "where",
        "order_id >",
        "does not parse",
        "correct",
    ),
    "a measure that is no aggregate": (
        "sum(amount)",
        "amount * 2",
        "revenue",
        "amount * 2",
        "not an aggregate",
        "sum(amount)",
    ),
    "a measure with a plain column beside it": (
        "sum(amount)",
        "sum(amount) + version",
        "revenue",
        "sum(amount) + version",
        "'version' stands outside",
        "max(version)",
    ),
    "a measure of a missing column": (
        "sum(amount)",
        "sum(amont)",
        "revenue",
        "sum(amont)",
        "no column 'amont'",
        "'amount'",
    ),
    "a measure of an unknown function": (
        "sum(amount)",
        "summ(amount)",
        "revenue",
        "summ(amount)",
        "no function 'summ'",
        "did you mean 'sum'?",
    ),
    "a measure by processing time": (
        "sum(amount)",
        "max(_processed_at)",
        "revenue",
        "max(_processed_at)",
        "no column '_processed_at'",
        "allowed",
    ),
    "a where by what had been seen": (
        "    where: order_id > 0",
        "    watermark: 1 hour\n    where: _seen_until IS NULL",
        "where: _seen",
        "_seen_until IS NULL",
        "no column '_seen_until'",
        "allowed",
    ),
    "a measure by what had been closed": (
        "sum(amount)",
        "max(_closed_until)\n    watermark: 1 hour",
        "revenue",
        "max(_closed_until)",
        "no column '_closed_until'",
        "allowed",
    ),
    "a measure with OVER": (
        "sum(amount)",
        "sum(amount) over ()",
        "revenue",
        "sum(amount) over ()",
        "uses OVER",
        "SQL table",
    ),
}
GOLD: dict[str, Case] = {
    "an unknown silver table": (
        "from: silver.orders",
        "from: silver.order",
        "from:",
        "silver.order",
        "no silver table",
        "did you mean 'silver.orders'?",
    ),
    "a table without its layer": (
        "from: silver.orders",
        "from: orders",
        "from:",
        "orders",
        "no silver table",
        "did you mean 'silver.orders'?",
    ),
    "two origins": (
        "from: silver.orders",
        "from: silver.orders\n    sql: sql/top.sql",
        "hourly:",
        ["from", "sql"],
        "'from' and 'sql' are given",
        "keep or add one",
    ),
    "no origin": (
        "    sql: sql/top.sql",
        "    emit: complete",
        "top:",
        [],
        "none is given",
        "keep or add one",
    ),
    "a group of sql": (
        "    sql: sql/top.sql",
        "    sql: sql/top.sql\n    group_by: [city]",
        "group_by",
        ["city"],
        "incompatible with 'sql'",
        "remove group_by",
    ),
    "inputs of sql": (
        "    sql: sql/top.sql",
        "    sql: sql/top.sql\n    inputs: [silver.orders]",
        "inputs",
        ["silver.orders"],
        "belongs to 'python'",
        "remove",
    ),
    "no measures": (
        "    measures:\n      order_count: count(*)\n      revenue: sum(amount)\n",
        "",
        "hourly:",
        "silver.orders",
        "'measures' is missing",
        "count(*)",
    ),
    "a slide longer than the size": (
        "slide: 30 minutes",
        "slide: 2 hours",
        "window",
        "2 hours",
        "longer than the size of 1 hour",
        "at most the size",
    ),
    "a missing window column": (
        "slide: 30 minutes",
        "column: order_at",
        "window",
        "order_at",
        "no column",
        "'ordered_at'",
    ),
    "a window over dates": (
        "slide: 30 minutes",
        "column: shipped_on",
        "window",
        "shipped_on",
        "is date, not timestamp",
        "timestamp column",
    ),
    "a missing group": (
        "group_by: [city]",
        "group_by: [town]",
        "group_by",
        "town",
        "no column 'town'",
        "city",
    ),
    "a group by an array": (
        "group_by: [city]",
        "group_by: [tags]",
        "group_by",
        "tags",
        "cannot be grouped",
        "simple type",
    ),
    "a measure with the name of a group": (
        "      revenue: sum",
        "      City: sum",
        "City:",
        "City",
        "already in group_by",
        "another name",
    ),
    "a measure with the name of the window": (
        "      revenue: sum",
        "      window_end: sum",
        "window_end",
        "window_end",
        "a column of the window",
        "another",
    ),
    "no inputs": (
        "\n    inputs: [silver.orders, gold.top]",
        "",
        "python:",
        "hooks/shop.py:funnel",
        "'inputs' is missing",
        "[silver.orders]",
    ),
    "an unknown input": (
        "[silver.orders, gold.top]",
        "[silver.orders, gold.topp]",
        "inputs",
        "gold.topp",
        "no table to read",
        "did you mean 'gold.top'?",
    ),
    "bronze as an input": (
        "[silver.orders, gold.top]",
        "[bronze.orders, gold.top]",
        "inputs",
        "bronze.orders",
        "no table to read",
        "silver.orders",
    ),
    "a missing Python file": (
        "hooks/shop.py:funnel",
        "hooks/shp.py:funnel",
        "python:",
        "hooks/shp.py:funnel",
        "no file conf/hooks/shp.py",
        "'hooks/shop.py'",
    ),
    "a missing function": (
        "hooks/shop.py:funnel",
        "hooks/shop.py:funel",
        "python:",
        "funel",
        "no function in conf/hooks/shop.py",
        "did you mean 'funnel'?",
    ),
    "too few inputs": (
        "[silver.orders, gold.top]",
        "[silver.orders]",
        "inputs",
        ["silver.orders"],
        "takes 2 parameters",
        "shop.py, line 1",
    ),
    "a missing SQL file": (
        "sql: sql/top.sql",
        "sql: sql/tops.sql",
        "sql:",
        "sql/tops.sql",
        "no file conf/sql/tops.sql",
        "did you mean 'sql/top.sql'?",
    ),
}
GROUPS = {
    "structure": STRUCTURE,
    "keys": KEYS,
    "deletes": DELETES,
    "lookup": LOOKUPS,
    "expressions": EXPRESSIONS,
    "gold": GOLD,
}
REFUSED = {f"{group}: {name}": case for group, cases in GROUPS.items() for name, case in cases.items()}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_mistake_is_refused_with_line_value_and_hint(workspace: Workspace, case: Case) -> None:
    old, new, line, value, message, hint = case
    workspace.replace(old, new)

    workspace.assert_refused(line, value, message, hint)


@pytest.mark.parametrize(
    "function",
    [
        "current_timestamp()",
        "now()",
        "current_date",
        "localtimestamp",
        "current_path",
        "rand()",
        "randn()",
        "uuid()",
        "unix_timestamp()",
        "current_user()",
    ],
)
def test_an_expression_that_is_not_a_function_of_the_data_is_refused(
    workspace: Workspace, function: str
) -> None:
    text = f"cast({function} as string) > 'a'"
    workspace.replace('"amount > 100"', f'"{text}"')

    problem = workspace.problem()

    assert (problem.value, problem.line) == (text, 35)
    assert "may not be used: it" in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("url_decode(cast(amount as string))", "try_url_decode"),
        ("to_number(cast(amount as string), '99')", "try_to_number"),
        ("parse_json(cast(amount as string))", "try_parse_json"),
        ("sequence(1, 5)", "explode"),
    ],
)
def test_an_expression_that_one_bad_row_can_stop_is_refused(
    workspace: Workspace, call: str, instead: str
) -> None:
    workspace.replace('"amount > 100"', f'"{call} is null"')

    problem = workspace.problem()

    assert "fails on a row" in problem.message
    assert instead in problem.hint


@pytest.mark.parametrize(
    ("measure", "instead"),
    [
        ("first(amount)", "max_by"),
        ("last(amount)", "max_by"),
        ("any_value(amount)", "max_by"),
        ("collect_list(amount)", "array_sort"),
        ("collect_set(amount)", "array_sort"),
        ("listagg(city)", "WITHIN GROUP"),
        ("percentile_approx(amount, 0.5)", "percentile("),
        ("approx_top_k(city)", "count(DISTINCT"),
        ("mode(city)", "mode(x, true)"),
        ("array_sort(collect_list(city), (a, b) -> 0)", "array_sort(collect_list(x))"),
        ("listagg(city, ',') WITHIN GROUP (ORDER BY version)", "ORDER BY x"),
    ],
)
def test_a_measure_that_depends_on_the_order_of_rows_is_refused(
    workspace: Workspace, measure: str, instead: str
) -> None:
    workspace.replace("sum(amount)", f'"{measure}"')

    workspace.assert_refused("revenue:", measure, "depends on the order in which rows arrive", instead)


@pytest.mark.parametrize(
    "measure",
    [
        "sum(amount) FILTER (WHERE is_big)",
        "count(DISTINCT customer_id)",
        "max_by(amount, struct(ordered_at, amount))",
        "max_by(amount, order_id)",
        "max_by(amount, struct(ordered_at, order_id))",
        "mode(city, true)",
        "mode() WITHIN GROUP (ORDER BY city)",
        "listagg(DISTINCT city, ',') WITHIN GROUP (ORDER BY city)",
        "size(collect_set(city))",
        "array_sort(collect_set(version))",
        "percentile(amount, 0.5)",
        "bool_or(is_big)",
        "sum(amount) / count(*)",
        "concat(city, max(version))",
        "SUM(CASE WHEN Is_Big THEN 1 END)",
        "max(_arrived_at)",
        "max(struct(ordered_at, amount)).amount",
    ],
)
def test_an_aggregate_over_known_columns_is_a_measure(workspace: Workspace, measure: str) -> None:
    workspace.replace("sum(amount)", f'"{measure}"')

    assert workspace.problems() == []


@pytest.mark.parametrize(
    "expression",
    [
        "amount BETWEEN 1 AND 2",
        "exists(tags, tag -> tag = 'new')",
        "AMOUNT > 100 AND `version` IS NOT NULL",
        "cast(amount as bigint) > 1 OR try_cast(version as string) rlike '^1'",
        "ordered_at >= timestamp'2020-01-01' - interval 1 day",
        "size(filter(tags, tag -> length(tag) > 1)) > 0",
        "unix_timestamp(ordered_at) > 0",
    ],
)
def test_an_expression_over_known_columns_passes(workspace: Workspace, expression: str) -> None:
    workspace.replace('"amount > 100"', f'"{expression}"')

    assert workspace.problems() == []


def test_a_key_needs_something_that_orders_its_versions(workspace: Workspace) -> None:
    workspace.replace("    sequence_by: version\n    event_time: ordered_at\n", "")
    workspace.replace(
        "    window: {size: 1 hour, slide: 30 minutes}\n", "    window: {size: 1 hour, column: paid_at}\n"
    )
    workspace.replace("take: [city]}", "take: [city], as_of: paid_at}")

    workspace.assert_refused("key: order_id", ["order_id"], "'key' is incompatible", "add sequence_by")


@pytest.mark.parametrize(
    "delete_when", ["is_big", "amount IS NULL AND version > 1", "exists(tags, tag -> tag = 'deleted')"]
)
def test_a_delete_may_be_told_by_any_column_of_the_table(workspace: Workspace, delete_when: str) -> None:
    workspace.replace("    where: amount >= 0", f"    delete_when: {delete_when}")

    assert workspace.problems() == []


def test_a_delete_may_go_by_the_order_of_the_event_time(workspace: Workspace) -> None:
    workspace.replace(
        "    sequence_by: version\n    event_time: ordered_at\n",
        "    event_time: ordered_at\n    delete_when: is_big\n",
    )

    assert workspace.problems() == []


def test_a_delete_without_an_order_of_versions_is_a_problem_of_the_key(workspace: Workspace) -> None:
    workspace.replace("    sequence_by: version\n    event_time: ordered_at\n", "    delete_when: is_big\n")
    workspace.replace(
        "    window: {size: 1 hour, slide: 30 minutes}\n", "    window: {size: 1 hour, column: paid_at}\n"
    )
    workspace.replace("take: [city]}", "take: [city], as_of: paid_at}")

    workspace.assert_refused(
        "key: order_id", ["order_id"], "nothing says which version is the newest", "add sequence_by"
    )


@pytest.mark.parametrize("if_missing", ["park", "park, give_up_after: 7 days", "unknown", "quarantine"])
def test_a_missing_member_may_be_parked_unknown_or_quarantined(workspace: Workspace, if_missing: str) -> None:
    workspace.replace("take: [city]", f"take: [city], if_missing: {if_missing}")

    assert workspace.problems() == []


def test_a_window_needs_a_column_where_the_table_has_no_event_time(workspace: Workspace) -> None:
    workspace.replace("    event_time: ordered_at\n", "")
    workspace.replace("take: [city]}", "take: [city], as_of: paid_at}")

    workspace.assert_refused("window:", "silver.orders", "silver.orders has no event time", "add column")


def test_a_name_taken_from_two_dimensions_is_refused(workspace: Workspace) -> None:
    workspace.replace("manager: string,", "city: string,")
    workspace.replace("take: manager", "take: city")
    workspace.replace(
        "      region: string\n    lookup:\n",
        "      region: string\n      at: timestamp\n    lookup:\n      customers: {on: order_id, as_of: at,"
        " take: city}\n",
    )
    workspace.replace("SELECT o.city", "SELECT o.city AS town", "conf/sql/top.sql")

    workspace.assert_refused(
        "take: city",
        "city",
        "of dimension 'regions' has the name of column 'city' of dimension 'customers'",
        "{city: regions_city}",
    )


def test_sources_may_share_a_folder_by_different_patterns(workspace: Workspace) -> None:
    workspace.replace("path: shop/customers}", "path: shop/in, pattern: customers-*}")
    workspace.replace("path: shop/regions}", "path: shop/in, pattern: regions-*}")

    assert workspace.problems() == []


def test_csv_columns_are_taken_by_whole_header_names(workspace: Workspace) -> None:
    workspace.replace(
        "      city: string\n", "      city: string\n      home: {type: string, from: city.home}\n"
    )

    assert workspace.problems() == []


def test_python_that_does_not_parse_is_refused_in_its_own_file(workspace: Workspace) -> None:
    workspace.write("conf/hooks/shop.py", "x = 1\ndef funnel(:\n")

    workspace.assert_refused(
        "def funnel(:", "hooks/shop.py:funnel", "not Python", "correct it", "conf/hooks/shop.py"
    )


def test_a_ring_of_gold_tables_is_printed(workspace: Workspace) -> None:
    workspace.replace(
        "inputs: [silver.orders, gold.top]",
        "inputs: [silver.orders, gold.last]\n  last:\n    sql: sql/last.sql",
    )
    workspace.write("conf/sql/last.sql", "SELECT page FROM gold.funnel")

    problem = workspace.problem()

    assert problem.value in (
        "gold.funnel -> gold.last -> gold.funnel",
        "gold.last -> gold.funnel -> gold.last",
    )
    assert str(problem.value) in problem.message
    assert problem.hint == "let one of them read another table"
    assert problem.line in (70, 73)


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("BILLING TOKEN", "is not the name of a variable", "BILLING_*"),
        ('"*"', "is not the name of a variable", "BILLING_*"),
        ("AIRFLOW__CORE__FERNET_KEY", "is a setting of Airflow", "write another name"),
    ],
)
def test_only_names_of_variables_are_handed_on_and_never_airflows_keys(
    workspace: Workspace, name: str, message: str, hint: str
) -> None:
    workspace.replace("profile: local", f"profile: local\nhand_on: [{name}]", "conf/lakehouse.yml")

    workspace.assert_refused("hand_on:", name.strip('"'), message, hint, "conf/lakehouse.yml")


def test_a_profile_that_is_not_there_is_refused(workspace: Workspace) -> None:
    workspace.replace("profile: local", "profile: locl", "conf/lakehouse.yml")

    workspace.assert_refused(
        "profile: locl", "locl", "no profile 'locl'", "did you mean 'local'?", "conf/lakehouse.yml"
    )


def test_a_driver_in_the_cluster_is_refused_a_folder_of_this_machine(workspace: Workspace) -> None:
    profile = "master: yarn\nstaging: hdfs:///user/weir\ndeploy: cluster\n"
    workspace.write("conf/profiles/local.yml", profile)

    found = [problem for problem in workspace.problems() if problem.where == "deploy"]

    assert [(problem.file, problem.line) for problem in found] == [("conf/profiles/local.yml", 3)] * 2
    assert "cannot reach the lake" in found[0].message
    assert "shared_folders: true" in found[0].hint
    workspace.write("conf/profiles/local.yml", f"{profile}shared_folders: true\n")
    assert workspace.problems() == []


def test_a_lake_inside_the_landing_zone_is_refused(workspace: Workspace) -> None:
    workspace.replace("lake: lake", "lake: landing/lake", "conf/lakehouse.yml")

    workspace.assert_refused(
        "lake:",
        str(workspace.root / "landing/lake"),
        "contain one another",
        "folder of its own",
        "conf/lakehouse.yml",
    )


@pytest.mark.parametrize(
    ("root", "message", "hint"),
    [
        ("hdfs://name/lake", "leases and ledger on hdfs://", "s3a://bucket/folder"),
        ("s3://bucket/lake", "leases and ledger on s3://", "write s3a://"),
        ("s3a:///lake", "names no bucket", "s3a://bucket/folder"),
        ("s3a://bucket/lake?x=1", "more than a bucket", "s3a://bucket/folder"),
    ],
)
def test_a_lake_where_no_lease_can_be_kept_is_refused(
    workspace: Workspace, root: str, message: str, hint: str
) -> None:
    workspace.replace("lake: lake", f"lake: {root}", "conf/lakehouse.yml")

    workspace.assert_refused("lake:", root, message, hint, "conf/lakehouse.yml")


def test_a_key_in_an_address_is_refused_and_not_shown(workspace: Workspace) -> None:
    workspace.replace("lake: lake", "lake: s3a://key:hush@bucket/lake", "conf/lakehouse.yml")

    workspace.assert_refused(
        "lake:", None, "an address with a password in it", "AWS_ACCESS_KEY_ID", "conf/lakehouse.yml"
    )
    assert "hush" not in str(workspace.problems())


def test_a_key_in_an_address_of_the_environment_is_refused_and_not_shown(workspace: Workspace) -> None:
    [problem] = check_folder(workspace.root, {"WEIR_LAKE": "s3a://key:hush@bucket/lake"})

    assert (problem.where, problem.value) == ("lake", "s3a://...@bucket/lake")
    assert "no place for a key" in problem.message
    assert "hush" not in str(problem)


def test_a_store_without_encryption_must_be_allowed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.replace("lake: lake", "lake: s3a://bucket/lake", "conf/lakehouse.yml")
    assert workspace.problems() == []

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:7070")

    workspace.assert_refused(
        "lake:", "s3a://bucket/lake", "without encryption", "AWS_ALLOW_HTTP=true", "conf/lakehouse.yml"
    )
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    assert workspace.problems() == []


def test_all_problems_come_at_once_by_file_and_line(workspace: Workspace) -> None:
    workspace.replace("key: order_id", "key: order")
    workspace.replace("sum(amount)", "sum(amont)")
    workspace.write("conf/pipelines/broken.yml", "source: {}\nsorces: {}\n")

    found = [(problem.file, problem.line) for problem in workspace.problems()]

    shop = "conf/pipelines/shop.yml"
    assert found == [
        *[("conf/pipelines/broken.yml", 1)] * 2,
        ("conf/pipelines/broken.yml", 2),
        (shop, 36),
        (shop, 66),
    ]


def test_the_correct_project_has_no_problems(workspace: Workspace) -> None:
    assert workspace.problems() == []
    assert check_project(load_project(workspace.root, {})) == []


def test_the_shipped_project_has_no_problems() -> None:
    assert check_folder(ROOT, {}) == []


@pytest.mark.parametrize(
    "name",
    [
        "late",
        "parked",
        "deleted",
        "quarantine",
        "bronze",
        "silver",
        "gold",
        "dimension",
        "sink",
        "weir_maintenance",
    ],
)
def test_a_pipeline_that_is_called_like_a_part_of_a_lake_is_refused(workspace: Workspace, name: str) -> None:
    workspace.write(
        f"conf/pipelines/{name}.yml",
        f"pipeline: {name}\nsources: {{orders: {{format: json, path: others}}}}\n",
    )

    problem = workspace.problem()

    assert (problem.file, problem.line, problem.value) == (f"conf/pipelines/{name}.yml", 1, name)
    assert f"a pipeline may not be called {name!r}" in problem.message


@pytest.mark.parametrize(
    ("written", "here"),
    [
        ("primary_key", "key"), ("unique_key", "key"), ("merge_keys", "key"), ("filter", "where"), ("schema", "columns"),
        ("updated_at", "sequence_by"), ("order_by", "sequence_by"), ("timestamp", "event_time"), ("source", "from"), ("join", "lookup"),
        ("unnest", "explode"), ("primary-key", "key"), ("primaryKey", "key"), ("sort-by", "sequence_by"),
    ],
)  # fmt: skip
def test_a_key_of_another_tool_is_known_again(workspace: Workspace, written: str, here: str) -> None:
    workspace.replace("    key: order_id\n", f"    key: order_id\n    {written}: order_id\n")

    assert workspace.problem().hint.startswith(f"did you mean {here!r}?")
