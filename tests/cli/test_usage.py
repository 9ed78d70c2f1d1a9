"""Mistakes on the command line: named by their option or argument, never as a line of a file, and as JSON
where that was asked for.
"""

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from tests.conftest import Workshop

Weir = Callable[..., Result]
PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
silver:
  orders: {from: orders, columns: {id: bigint}}
gold:
  totals: {sql: totals.sql}
"""
WHY = ("--reason", "because")


@pytest.fixture
def weir(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Weir:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.write("conf/totals.sql", "SELECT count(*) AS orders FROM silver.orders\n")
    idle_workshop.write(
        "conf/pipelines/talk.yml",
        "pipeline: talk\nsources:\n  lines: {format: socket, port: 9}\nsilver:\n  lines: {from: lines,"
        " columns: {value: string}}\n",
    )
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *arguments: CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "shp"), "PIPELINE: there is no pipeline 'shp'\n    did you mean 'shop'?"),
        (
            ("run", "shop", "--select", "silver.order"),
            "--select: there is no table 'silver.order'\n    did you mean 'silver.orders'?",
        ),
        (
            ("run", "shop", "--layer", "sliver"),
            "--layer: there is no layer 'sliver'\n    did you mean 'silver'?",
        ),
        (
            ("run", "shop", "--profile", "locl"),
            (
                "--profile or WEIR_PROFILE: there is no profile 'locl' in conf/profiles\n    did you mean"
                " 'local'?"
            ),
        ),
        (("run", "talk"), "weir run: source 'lines' keeps nothing"),
        (("plan", "shp"), "PIPELINE: there is no pipeline 'shp'"),
        (("stream", "shop", "--trigger", "often"), "--trigger: there is no trigger 'often'"),
        (
            ("stream", "shop", "--trigger", "continuous 1 second"),
            "--trigger: the continuous trigger has no batches",
        ),
        (("stream", "shop", "--listen", "here"), "--listen: 'here' is not an address"),
        (("stream", "shop", "--stale-after", "soon"), "--stale-after: 'soon' is not a duration"),
        (("status", "shp"), "PIPELINE: there is no pipeline 'shp'"),
        (("account", "shp"), "PIPELINE: there is no pipeline 'shp'"),
        (("report", "shp"), "PIPELINE: there is no pipeline 'shp'"),
        (
            ("report", "shop", "--run", "x"),
            "--run: shop has no run 'x'\n    nothing has run yet: `weir run shop`",
        ),
        (
            ("report", "--run", "x"),
            "--run: a run is one of a pipeline\n    write `weir report PIPELINE --run RUN_ID`",
        ),
        (
            ("rebuild", "shop", "silver.order"),
            "TABLE: there is no table 'silver.order'\n    did you mean 'silver.orders'?",
        ),
        (("rebuild", "shop", "bronze.orders"), "TABLE: bronze is what tables are rebuilt from"),
        (
            ("rebuild", "shop", "silver.orders", "--all"),
            "--all: --all and names of tables contradict one another",
        ),
        (("release", "shop", "silver.order", *WHY), "TABLE: there is no table 'silver.order'"),
        (("release", "shop", "silver.orders", "--by", " ", *WHY), "--by: it is empty"),
        (("release", "shop", "silver.orders", "--reason", " "), "--reason: the reason is empty"),
        (("set-aside", "shop", "silver.orders", "--reason", ""), "--reason: the reason is empty"),
        (("hold", "shop", "silver.orders", "--reason", ""), "--reason: the reason is empty"),
        (
            ("quarantine", "discard", "shop", "silver.orders", "--rule", "x", "--reason", ""),
            "--reason: the reason is empty",
        ),
        (("set-aside", "shop", "silver.order", *WHY), "TABLE: there is no table 'silver.order'"),
        (("hold", "shop", "silver.order", *WHY), "TABLE: there is no table 'silver.order'"),
        (("verify", "shop", "--select", "silver.order"), "--select: there is no table 'silver.order'"),
        (
            ("verify", "shop", "--files", "--select", "silver.orders"),
            "--select: 'silver.orders' is no bronze table of files",
        ),
        (("state", "shop", "totals"), "TABLE: 'totals' keeps no state"),
        (("maintain", "shp"), "PIPELINE: there is no pipeline 'shp'"),
        (
            ("take", "shop", "order", "a.json"),
            "SOURCE: shop has no source 'order'\n    did you mean 'orders'?",
        ),
        (("take", "talk", "lines", "a.json"), "SOURCE: lines reads no files but"),
        (("close", "shop", "order"), "SOURCE: shop has no source 'order'\n    did you mean 'orders'?"),
        (("propose", "shop", "order"), "SOURCE: shop has no source 'order'\n    did you mean 'orders'?"),
        (
            ("propose", "shop", "orders"),
            "SOURCE: silver has a table 'orders' already\n    choose another name by --table",
        ),
        (
            ("propose", "shop", "orders", "--table", "a; b"),
            "--table: 'a; b' is not a legal name\n    allowed are",
        ),
        (("quarantine", "list", "shop", "silver.order"), "TABLE: there is no table 'silver.order'"),
        (
            ("quarantine", "list", "shop", "--since", "1.3.2026"),
            "--since: '1.3.2026' is not a day\n    write it as in 2026-03-31",
        ),
        (
            ("quarantine", "show", "shop", "silver.orders", "--csv", "x.csv", "--json"),
            "--csv: --json is incompatible with --csv",
        ),
        (("quarantine", "replay", "shop", "silver.order"), "TABLE: there is no table 'silver.order'"),
        (
            ("quarantine", "discard", "shop", "silver.orders", *WHY),
            "discard: nothing says which rows are to be discarded",
        ),
        (("quarantine", "discard", "shop", "bronze.orders", *WHY), "--file: no file is named"),
        (("sample", "--landing", "s3://shop/landing"), "--landing: 's3://shop/landing' is an address"),
    ],
    ids=lambda given: " ".join(given[:3]) if isinstance(given, tuple) else "",
)
def test_a_mistake_on_the_command_line_is_named_by_its_option_or_argument(
    weir: Weir, arguments: tuple[str, ...], said: str
) -> None:
    plain = weir(*(word for word in arguments if word != "--json" or "--csv" in arguments))
    as_json = weir(*arguments, *(() if "--json" in arguments else ("--json",)))

    assert (plain.exit_code, as_json.exit_code) == (2, 2)
    assert plain.stderr.startswith(f"error: {said}"), plain.stderr
    assert ".yml:" not in plain.stderr, "nothing is wrong in a file"
    result = json.loads(as_json.stdout)
    assert (result["status"], result["exit_code"]) == ("usage_error", 2)
    assert result["message"].startswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rnu",), "No such command 'rnu'"),
        (("run",), "Missing argument 'PIPELINE'"),
        (("run", "shop", "--selct", "x"), "No such option: --selct"),
        (("run", "shop", "--files-per-batch", "0"), "'--files-per-batch'"),
        (("quarantine", "lst", "shop"), "No such command 'lst'"),
        (("release", "shop", "silver.orders"), "Missing option '--reason'"),
        (
            ("sample", "--increment", "4000"),
            "Invalid value for '--increment': Input should be less than or equal to 400",
        ),
        (
            ("sample", "--orders", "99"),
            "Invalid value for '--orders': Input should be greater than or equal to 100",
        ),
        (("status", "shop", "--watch", "2"), "three ways to show it"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_what_the_parser_refuses_is_json_too(weir: Weir, arguments: tuple[str, ...], said: str) -> None:
    plain, as_json = (
        weir(*arguments, *(["--json"] if "--watch" in arguments else [])),
        weir(*arguments, "--json"),
    )

    assert (plain.exit_code, as_json.exit_code) == (2, 2)
    assert said in " ".join(plain.stderr.split())
    result = json.loads(as_json.stdout)
    assert (result["status"], result["exit_code"]) == ("usage_error", 2)
    assert said in result["message"]


@pytest.mark.parametrize(
    "command", ["run", "plan", "status", "account", "report", "maintain", "quarantine list"]
)
def test_a_broken_file_is_json_as_well_and_named_with_its_line(
    weir: Weir, idle_workshop: Workshop, command: str
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE.replace("bigint", "bigit"))

    done = weir(*command.split(), "shop", "--json")

    result = json.loads(done.stdout)
    assert (done.exit_code, result["status"], result["exit_code"]) == (2, "config_error", 2)
    assert (
        "error: the configuration cannot be used\nconf/pipelines/shop.yml:6: silver.orders.columns.id"
        in done.stderr
    )


def test_a_folder_without_a_project_is_named(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path_factory.mktemp("empty")))
    for arguments in (("run", "shop"), ("status",), ("sample",), ("account",)):
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)

        assert (done.exit_code, done.stdout) == (2, "")
        assert "error: the configuration cannot be used\nconf/lakehouse.yml:1:" in done.stderr


def test_a_project_without_pipelines_says_where_one_is_written(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    done = CliRunner().invoke(app, ("run", "shop"), catch_exceptions=False)

    assert done.stderr.startswith(
        "error: PIPELINE: there is no pipeline 'shop'\n    conf/pipelines has no pipeline yet"
    )


def test_the_check_names_the_project_where_it_is_another_one_than_here(
    idle_workshop: Workshop, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    said = []
    for folder in (idle_workshop.root, tmp_path_factory.mktemp("elsewhere")):
        monkeypatch.chdir(folder)
        said.append(CliRunner().invoke(app, ["check"], catch_exceptions=False).stdout)

    assert said == ["conf/ is in order\n", f"{idle_workshop.root}/conf/ is in order\n"]


@pytest.mark.parametrize("command", ["status", "account", "report", "maintain", "check"])
def test_of_a_project_without_a_pipeline_that_is_said(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))

    ended = CliRunner().invoke(app, [command], catch_exceptions=False)

    assert ended.stderr.startswith("conf/pipelines has no pipeline yet")
