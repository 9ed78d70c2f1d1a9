"""`weir quarantine` as a person types it. None of this starts Spark."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from spark_jobs.config.loading import load_project
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import register_arrivals
from tests.conftest import Workshop, unguarded
from tests.lake.quarantine_table import bad, set_aside

Weir = Callable[..., Result]
PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
silver:
  orders:
    from: orders
    columns: {id: bigint, email: {type: string, from: person.email, sensitive: true}, note: string}
gold:
  per_note: {from: silver.orders, group_by: note, measures: {order_count: count(*)}}
"""
HOSTILE = [
    "\x1b]0;owned\x07\x1b[2J",
    "[bold red]not markup[/bold red] [link=file:///etc/passwd]x[/link]",
    "<script>alert('x')</script><img src=x onerror=alert(1)>",
    "=cmd|'/c calc'!A1",
    "first\r\nerror: a forged line",
    "\u202eright to left\u2066",
    "日本語 العربية Ελληνικά",
]


@pytest.fixture
def shop(idle_workshop: Workshop) -> Workshop:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    return idle_workshop


@pytest.fixture
def lake(shop: Workshop) -> Lake:
    return Lake(shop.project.lake, "shop")


@pytest.fixture
def weir(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Weir:
    monkeypatch.setenv("WEIR_HOME", str(shop.root))
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["quarantine", *arguments], catch_exceptions=False)


def land_refused(shop: Workshop, *names: str) -> None:
    for name in names:
        shop.land(f"orders/{name}", "{}\n")
    project = load_project(shop.root, {})
    feed = make_feed(
        Lake(project.lake, "shop"),
        project.landing,
        "orders",
        project.pipelines["shop"].sources["orders"],
        unguarded,
    )
    register_arrivals(feed, datetime(2026, 3, 1, tzinfo=UTC))


def test_where_nothing_is_quarantined_it_says_so(weir: Weir) -> None:
    all_tables, as_json = weir("list", "shop"), weir("list", "shop", "--json")
    one, shown = weir("list", "shop", "silver.orders"), weir("show", "shop", "silver.orders")

    assert (all_tables.exit_code, all_tables.stdout) == (0, "shop: nothing is quarantined here\n")
    assert (
        (one.exit_code, one.stdout)
        == (shown.exit_code, shown.stdout)
        == (0, "silver.orders: nothing is quarantined here\n")
    )
    assert json.loads(as_json.stdout) == {"pipeline": "shop", "rules": [], "files": []}


def test_the_summary_counts_rows_by_rule_and_names_files_with_the_command_that_takes_them(
    weir: Weir, shop: Workshop, lake: Lake
) -> None:
    set_aside(lake, "silver.orders", bad(1, "type bigint|id|x"), bad(2, "type bigint|id|y", "required|note"))
    land_refused(shop, "_x.json")

    plain, as_json = weir("list", "shop"), json.loads(weir("list", "shop", "--json").stdout)

    assert plain.exit_code == 0
    rows = [line.split() for line in plain.stdout.splitlines() if line.startswith("silver.orders")]
    dates = ["open", "2026-03-01", "12:00", "2026-03-01", "12:00", "orders/a.json"]
    assert rows == [
        ["silver.orders", "type", "bigint", "2", *dates],
        ["silver.orders", "required", "1", *dates],
    ]
    assert "file refused: 'orders/_x.json'" in plain.stdout
    assert "`weir take shop orders orders/_x.json`" in plain.stdout
    assert [(rule["rule"], rule["rows"], rule["state"]) for rule in as_json["rules"]] == [
        ("type bigint", 2, "open"),
        ("required", 1, "open"),
    ]
    assert [(file["path"], file["verdict"], file["command"]) for file in as_json["files"]] == [
        ("orders/_x.json", "refused", "weir take shop orders orders/_x.json")
    ]


def test_the_rows_of_a_table_are_listed_with_every_reason(weir: Weir, lake: Lake) -> None:
    set_aside(
        lake,
        "silver.orders",
        bad(1, "type bigint|id|x", "required|note"),
        bad(2, "required|note"),
        bad(3, "required", state="replayed"),
    )

    few, replayed = (
        weir("list", "shop", "silver.orders", "--limit", "1"),
        weir("list", "shop", "silver.orders", "--state", "replayed"),
    )

    assert "silver.orders: 2 quarantined rows, the newest first" in few.stdout
    assert (
        "  2026-03-01 12:00:00  open       orders/a.json:1  type bigint of id: 'x'; required of note"
        in few.stdout
    )
    assert "and 1 more row:" in few.stdout
    assert "orders/a.json:3" in replayed.stdout


def test_show_gives_reasons_state_attempts_and_the_record_without_sensitive_values(
    weir: Weir, lake: Lake
) -> None:
    record = '{"id": 12.50, "person": {"email": "ada@s3cret", "age": 36}}'
    row = bad(
        7, "type bigint|id|12.50", "email_is_good|email|ada@s3cret", record=record, attempts=2, rules="v1"
    )
    set_aside(
        lake, "silver.orders", row, bad(8, "decodable||not one JSON object", record="broken ada@s3cret")
    )

    shown = weir("show", "shop", "silver.orders")
    as_json = weir("show", "shop", "silver.orders", "--rule", "email_is_good", "--json")

    assert shown.stdout.splitlines()[:6] == [
        "silver.orders: 2 quarantined rows, the newest first",
        "orders/a.json:7",
        "  open, first seen 2026-03-01 12:00:00, replayed 2 times in vain, judged by rules v1",
        "  type bigint of id: '12.50'",
        "  email_is_good of email: '•••'",
        '  {"id": 12.50, "person": {"email": "•••", "age": 36}}',
    ]
    assert "s3cret" not in shown.stdout + as_json.stdout
    [found] = json.loads(as_json.stdout)["rows"]
    assert (found["line"], found["attempts"], found["record"]) == (
        7,
        2,
        '{"id": 12.50, "person": {"email": "•••", "age": 36}}',
    )


def test_hostile_values_do_nothing_to_the_terminal(weir: Weir, lake: Lake) -> None:
    values = [*HOSTILE, "x" * 1_000_000]
    rows = [
        bad(number, value, file=f"orders/{value[:50]}", record=json.dumps({"note": value}))
        for number, value in enumerate(values)
    ]
    rows += [bad(100 + number, "type bigint", record=value, reasons=[{"rule": "r", "column": "note", "value": value[:200]}])
             for number, value in enumerate(values)]  # fmt: skip
    set_aside(lake, "silver.orders", *rows)

    commands = (("list", "shop"), ("list", "shop", "silver.orders"), ("show", "shop", "silver.orders"))
    outputs = [weir(*arguments).stdout for arguments in commands]

    for output in outputs:
        assert [line for line in output.splitlines() if not line.isprintable()] == []
        assert not any(line.startswith("error:") for line in output.splitlines())
        assert len(output) < 100_000
    assert "[bold red]not markup[/bold red]" in outputs[0]
    assert "日本語 العربية Ελληνικά" in outputs[1]


def test_a_spreadsheet_gets_text_in_every_cell(weir: Weir, lake: Lake, tmp_path: Path) -> None:
    values = [*HOSTILE, "-12.5", "@x", "+x", "\tx"]
    set_aside(
        lake,
        "silver.orders",
        *(bad(number, "r", file=value, record=value) for number, value in enumerate(values)),
    )
    file = tmp_path / "rows.csv"

    done = weir("show", "shop", "silver.orders", "--csv", str(file))

    assert (done.exit_code, done.stdout) == (0, f"{len(values)} of {len(values)} rows are in {file}\n")
    text = file.read_bytes().decode("utf-8")
    assert text.startswith('\ufeff"table","file","line"')
    rows = list(csv.DictReader(io.StringIO(text[1:])))
    assert len(text.splitlines()) == len(rows) + 1 == len(values) + 1
    assert [
        cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@", "\t", "\r"))
    ] == []
    assert {"'=cmd|'/c calc'!A1", "-12.5", "'@x", "'+x", "'\\tx"} <= {row["file"] for row in rows}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("list", "shp"), "did you mean 'shop'"),
        (("list", "shop", "silver.order"), "did you mean 'silver.orders'"),
        (("list", "shop", "gold.per_note"), "nothing of a gold table is quarantined"),
        (("show", "shop", "bronze.orders"), "`weir quarantine list shop bronze.orders` names them"),
        (("list", "shop", "--state", "opne"), "did you mean 'open'"),
        (("list", "shop", "--since", "1.3.2026"), "write it as in 2026-03-31"),
        (
            ("list", "shop", "--since", "2026-03-02", "--until", "2026-03-01"),
            "give the earlier day to --since",
        ),
        (("list", "shop", "--rule", "requird"), "did you mean 'required'"),
        (("show", "shop", "silver.orders", "--rule", "requird"), "did you mean 'required'"),
        (("show", "shop", "silver.orders", "--json", "--csv", "x.csv"), "choose one of the two"),
        (
            ("show", "shop", "silver.orders", "--csv", "no/such/folder/x.csv"),
            "cannot be written: No such file or directory",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    weir: Weir, lake: Lake, arguments: tuple[str, ...], hint: str
) -> None:
    set_aside(lake, "silver.orders", bad(1, "required"))

    done = weir(*arguments)

    assert (done.exit_code, bool(done.stdout)) == (2, "--json" in arguments)
    assert hint in done.stderr


@pytest.mark.parametrize("command", ["list", "show"])
def test_help_shows_an_example_and_the_exit_codes(weir: Weir, command: str) -> None:
    done = weir(command, "--help")

    assert (
        done.exit_code,
        f"Example: weir quarantine {command} retail" in done.stdout,
        "Exit codes" in done.stdout,
    ) == (0, True, True)


def discard(weir: Weir, *arguments: str, table: str = "bronze.orders", reason: str = "a trial") -> Result:
    return weir("discard", "shop", table, "--reason", reason, *arguments)


def test_a_discarded_file_is_listed_only_where_it_is_asked_for(weir: Weir, shop: Workshop) -> None:
    land_refused(shop, "_x.json", "_y.json")

    done = discard(weir, "--file", "orders/_x.json", "--json")

    assert (done.exit_code, json.loads(done.stdout)["status"]) == (0, "ok")
    still_open, discarded = (
        weir("list", "shop", "bronze.orders"),
        weir("list", "shop", "bronze.orders", "--state", "discarded"),
    )
    assert ("_x.json" in still_open.stdout, "_y.json" in still_open.stdout) == (False, True)
    assert "file discarded: 'orders/_x.json': by " in discarded.stdout
    assert "a trial" in discarded.stdout
    assert "take it in: weir take shop orders orders/_x.json" in discarded.stdout


@pytest.mark.parametrize(
    ("arguments", "table", "reason", "hint"),
    [
        (("--file", "orders/x.json"), "bronze.orders", "a trial", "did you mean 'orders/_x.json'"),
        (("--file", "orders/_x.json"), "bronze.order", "a trial", "did you mean 'bronze.orders'"),
        ((), "bronze.orders", "a trial", "no file is named"),
        (("--file", "orders/_x.json"), "bronze.orders", " ", "say in words why"),
        (
            ("--file", "orders/_x.json", "--profile", "locl"),
            "bronze.orders",
            "a trial",
            "did you mean 'local'",
        ),
        (
            ("--file", "orders/_x.json", "--rule", "repeated"),
            "bronze.orders",
            "a trial",
            "is not among the files that --rule",
        ),
    ],
)
def test_discarding_refuses_with_what_to_do(
    weir: Weir, shop: Workshop, arguments: tuple[str, ...], table: str, reason: str, hint: str
) -> None:
    land_refused(shop, "_x.json")

    done = discard(weir, *arguments, table=table, reason=reason)

    assert (done.exit_code, hint in done.stderr) == (2, True), done.stderr


def test_no_file_is_discarded_while_another_process_holds_the_pipeline(weir: Weir, shop: Workshop) -> None:
    land_refused(shop, "_x.json")

    with hold_lease(Lake(shop.project.lake, "shop").lease(), "shop", "a test"):
        done = discard(weir, "--file", "orders/_x.json")

    assert (done.exit_code, "a test" in done.stderr) == (5, True)


@pytest.mark.parametrize("command", ["replay", "discard"])
def test_a_dry_run_over_files_says_what_it_would_do_and_writes_nothing(
    weir: Weir, shop: Workshop, command: str
) -> None:
    land_refused(shop, "_x.json", "_y.json")
    before, reason = shop.versions(), ("--reason", "a trial") if command == "discard" else ()

    tried = weir(command, "shop", "bronze.orders", "--file", "orders/_?.json", "--dry-run", *reason)
    wrong = weir(command, "shop", "bronze.orders", "--file", "orders/z.json", "--dry-run", *reason)

    done = "taken in" if command == "replay" else "discarded"
    said = f"2 files of bronze.orders would be {done}: 'orders/_x.json', 'orders/_y.json'; this was a dry run"
    assert (tried.exit_code, said in tried.stdout) == (0, True), tried.output
    assert wrong.exit_code == 2, "it is said what could not be done"
    assert shop.versions() == before


def test_files_are_selected_by_all_options_as_the_list_does(weir: Weir, shop: Workshop) -> None:
    land_refused(shop, "_x.json", "_y.json")

    none = weir("replay", "shop", "bronze.orders", "--rule", "refused", "--until", "2026-02-28")
    days = weir("replay", "shop", "bronze.orders", "--since", "2026-03-01", "--dry-run", "--json")
    taken = weir(
        "replay", "shop", "bronze.orders", "--rule", "refused", "--since", "2026-03-01", "--file", "*/_x.json"
    )

    assert (none.exit_code, "no file of bronze.orders is selected" in none.stdout) == (3, True)
    assert json.loads(days.stdout)["files"] == ["orders/_x.json", "orders/_y.json"]
    assert (taken.exit_code, "1 file of bronze.orders taken in: 'orders/_x.json'" in taken.stdout) == (
        0,
        True,
    ), taken.output
    still_open = weir("list", "shop", "bronze.orders").stdout
    assert ("_x.json" in still_open, "_y.json" in still_open) == (False, True)
