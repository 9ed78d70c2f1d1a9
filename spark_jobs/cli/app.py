"""The commands of `weir`, each with its help, its example and its exit codes."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from spark_jobs import __version__
from spark_jobs.cli.elsewhere import RunsElsewhere, hand_on
from spark_jobs.cli.ending import fail
from spark_jobs.cli.group import WeirGroup
from spark_jobs.cli.profile import ProfileName
from spark_jobs.cli.quarantine import quarantine
from spark_jobs.config.hooks import leave
from spark_jobs.lake.storage import StorageFailed
from spark_jobs.sample import MAX_INCREMENT, MAX_ORDERS, MIN_ORDERS

EXIT_CODES = (
    "Exit codes: 0 ok · 1 engine failure · 2 configuration or usage · 3 nothing to do · 4 data blocked by"
    " quality · 5 another run holds the pipeline · 6 stopped, run again to go on"
)
VERIFY_CODES = (
    "Exit codes: 0 all equal · 1 tables differ, or engine failure · 2 configuration or usage · 3 nothing"
    " there to verify · 5 another run holds the pipeline"
)
MAINTAIN_CODES = (
    "Exit codes: 0 done · 1 engine failure · 2 configuration or usage, or a table whose retention is too"
    " short · 3 nothing to do · 5 another run holds the pipeline"
)
STATE_CODES = (
    "Exit codes: 0 shown · 2 configuration or usage · 3 no state yet · 5 another run holds the pipeline"
)
ABOUT = f"Weir runs a lakehouse: landed files become bronze, silver and gold Delta tables.\n\n{EXIT_CODES}"
PLAN_CODES = (
    "Exit codes: 0 there is work · 1 a table cannot be read · 2 configuration or usage · 3 nothing to do"
)
HISTORY_CODES = (
    "Exit codes: 1 the server failed · 3 there is no event log yet · 130, 143 ended by Ctrl-C or SIGTERM"
)
STREAM_CODES = (
    "Exit codes: 0 stopped by somebody, or ended by itself · 1 gave up · 2 configuration or usage · 5 it is"
    " streaming already; available-now and once end as `weir run` does"
)
TO_REBUILD = "Tables, as in silver.orders; without them those whose definition has changed."
INCREMENT = "0: the first load; 1, 2, …: a later delivery with corrections, duplicates, late and broken rows."
DEFECT = (
    "Only the orders, all of them spoiled, under other file names: amounts in cents instead of euros, or a"
    " clock that is stuck. The same increment without it is the corrected delivery."
)

app = typer.Typer(
    cls=WeirGroup, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", help=ABOUT
)

app.add_typer(quarantine, name="quarantine")

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
PipelineName = Annotated[str, typer.Argument(help="A pipeline of conf/pipelines.", metavar="PIPELINE")]
HeldTable = Annotated[str, typer.Argument(help="The blocked table, as in silver.orders.", metavar="TABLE")]
DecisionReason = Annotated[str, typer.Option("--reason", help="Why, for those who read it later.")]
Seen = Annotated[
    str | None,
    typer.Option(
        "--seen", metavar="ID", help="Only if the blocked batch is still this one, as the run named it."
    ),
]
DecidedBy = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who decided, instead of the user of this command.")
]


def main() -> None:
    """Run the command and leave at once: Arrow's reading threads may still be ending, and the interpreter's
    own way out can then abort (https://github.com/apache/arrow/issues/34314), which would turn a good result
    into a bad exit code.
    """
    try:
        app()
    except SystemExit as ending:
        code = ending.code
    except RunsElsewhere as elsewhere:
        code = hand_on(elsewhere, sys.argv[1:])
    except StorageFailed as failed:
        code = fail(
            f"{failed}; see that the store answers, and that the environment has its address and keys, then"
            " try again",
            1,
        )
    else:
        code = 0
    if isinstance(code, str):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    leave(code if isinstance(code, int) else 1 if code else 0)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"weir {__version__}")
        raise typer.Exit


@app.command(epilog=f"Example: weir run retail --layer silver\n\n{EXIT_CODES}")
def run(
    pipeline: PipelineName,
    select: Annotated[
        list[str] | None, typer.Option(help="Only this table, as in silver.orders; may be given again.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Only this layer: bronze, silver (with its dimensions), gold or sink.")
    ] = None,
    files_per_batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            metavar="N",
            help="Files of a batch in this run, instead of what the sources say.",
        ),
    ] = None,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Take what has landed through bronze, silver and gold."""
    from spark_jobs.cli.run import run_command

    raise typer.Exit(run_command(pipeline, tuple(select or ()), layer, files_per_batch, profile, as_json))


@app.command(epilog=f"Example: weir plan retail\n\n{PLAN_CODES}")
def plan(pipeline: PipelineName, as_json: Json = False) -> None:
    """Show what a run would do and why, in about a second: without Spark, even while a run is active. Changes
    nothing.
    """
    from spark_jobs.cli.plan import plan_command

    raise typer.Exit(plan_command(pipeline, as_json))


@app.command(epilog=f"Example: weir stream retail --trigger '10 seconds' --listen 9464\n\n{STREAM_CODES}")
def stream(
    pipeline: PipelineName,
    trigger: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help=(
                "available-now, once, as-fast-as-possible, or a pause from start to start, as in '30"
                " seconds'."
            ),
        ),
    ] = "as-fast-as-possible",
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Answer /health and /metrics there; on loopback unless a host is named.",
        ),
    ] = None,
    heartbeat: Annotated[
        Path | None, typer.Option(help="A file that is written at every sign of life.")
    ] = None,
    stale_after: Annotated[
        str, typer.Option(metavar="DURATION", help="Without a sign of life for so long /health answers 503.")
    ] = "15 minutes",
    give_up_after: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Exit with code 1 after so many failures in a row; by default, retry forever.",
        ),
    ] = None,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Run increments in one warm session until stopped. Other runs and commands may work in between."""
    from spark_jobs.cli.stream import stream_command

    raise typer.Exit(
        stream_command(pipeline, trigger, profile, listen, heartbeat, stale_after, give_up_after, as_json)
    )


@app.command(epilog="Example: weir status retail --watch 2\n\nExit codes: 0 shown · 2 configuration or usage")
def status(
    pipeline: Annotated[
        str | None,
        typer.Argument(help="A pipeline of conf/pipelines; without it all of them.", metavar="[PIPELINE]"),
    ] = None,
    watch: Annotated[
        float | None,
        typer.Option(min=0.5, max=3600, metavar="SECONDS", help="Look again so often, until Ctrl-C."),
    ] = None,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="In Prometheus' text format.")] = False,
    as_json: Json = False,
) -> None:
    """Show table status: last batch, backlog, watermark and state size. Does not start Spark."""
    from spark_jobs.cli.status import status_command

    if (watch is not None) + prometheus + as_json > 1:
        raise typer.BadParameter("--watch, --prometheus and --json are three ways to show it: choose one")
    raise typer.Exit(
        status_command(pipeline, "json" if as_json else "prometheus" if prometheus else "table", watch)
    )


@app.command(epilog="Example: weir check\n\nExit codes: 0 all is well · 2 problems were found")
def check(as_json: Json = False) -> None:
    """Check every file of conf/ and expectations/ and all that they name, without Spark."""
    from spark_jobs.cli.check import check_command

    raise typer.Exit(check_command(as_json))


@app.command(epilog="Example: weir schema > .vscode/weir-pipeline.schema.json")
def schema(
    expectations: Annotated[
        bool, typer.Option("--expectations", help="That of an expectation file instead of a pipeline file.")
    ] = False,
) -> None:
    """Print the JSON Schema of a pipeline file or an expectation file, for editors."""
    from spark_jobs.config.schema import expectations_schema, json_schema

    typer.echo(json.dumps(expectations_schema() if expectations else json_schema(), indent=2))


@app.command(
    epilog=(
        "Example: weir account retail\n\nExit codes: 0 all rows are accounted for · 1 they are not · 2"
        " configuration or usage"
    )
)
def account(
    pipeline: Annotated[
        str | None,
        typer.Argument(help="A pipeline of conf/pipelines; without it all of them.", metavar="PIPELINE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what became of every row that ever entered the tables of a pipeline, or of all."""
    from spark_jobs.cli.account import account_command

    raise typer.Exit(account_command(pipeline, as_json))


@app.command(
    epilog=(
        "Example: weir report retail --open\n\nExit codes: 0 made, or nothing has run yet · 2 configuration"
        " or usage, or no such run"
    )
)
def report(
    pipeline: Annotated[
        str | None,
        typer.Argument(help="A pipeline of conf/pipelines; without it all of them.", metavar="PIPELINE"),
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="The id of a run, instead of the newest one.", metavar="RUN_ID")
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write the data-quality report of a run, and the lists of reports, again from the ledger."""
    from spark_jobs.cli.report import report_command

    raise typer.Exit(report_command(pipeline, run, is_opened, as_json))


@app.command(epilog=f"Example: weir rebuild retail silver.orders --dry-run\n\n{EXIT_CODES}")
def rebuild(
    pipeline: PipelineName,
    tables: Annotated[list[str] | None, typer.Argument(help=TO_REBUILD, metavar="[TABLE]...")] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Every dimension, silver and gold table.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Build and compare, but replace nothing.")
    ] = False,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Rebuild tables and everything downstream from bronze: build side by side, compare, then swap."""
    from spark_jobs.cli.rebuild import rebuild_command

    raise typer.Exit(rebuild_command(pipeline, tuple(tables or ()), is_all, dry_run, profile, as_json))


@app.command(
    epilog=(
        'Example: weir release retail silver.orders --reason "the shop had a sale, the amounts are'
        f' right"\n\n{EXIT_CODES}'
    )
)
def release(
    pipeline: PipelineName,
    table: HeldTable,
    reason: DecisionReason,
    seen: Seen = None,
    by: DecidedBy = None,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Publish a blocked batch anyway. Records who decided and why; the run resumes."""
    from spark_jobs.cli.decide import decide_command

    raise typer.Exit(decide_command(pipeline, table, "release", reason, seen, by, profile, as_json))


@app.command(
    "set-aside",
    epilog=f'Example: weir set-aside retail silver.orders --reason "amounts in cents"\n\n{EXIT_CODES}',
)
def set_aside(
    pipeline: PipelineName,
    table: HeldTable,
    reason: DecisionReason,
    seen: Seen = None,
    by: DecidedBy = None,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Quarantine the rows of a blocked batch. Records who decided and why; the run resumes."""
    from spark_jobs.cli.decide import decide_command

    raise typer.Exit(decide_command(pipeline, table, "set_aside", reason, seen, by, profile, as_json))


@app.command(
    epilog=f'Example: weir hold retail silver.orders --reason "the shop looks into it"\n\n{EXIT_CODES}'
)
def hold(
    pipeline: PipelineName,
    table: HeldTable,
    reason: DecisionReason,
    seen: Seen = None,
    by: DecidedBy = None,
    as_json: Json = False,
) -> None:
    """Keep a batch blocked, and record who decided and why. The next run judges it again."""
    from spark_jobs.cli.decide import decide_command

    raise typer.Exit(decide_command(pipeline, table, "hold", reason, seen, by, None, as_json))


@app.command(
    epilog=(
        "Example: weir verify retail --select silver.orders --rows 20\n\n"
        f"The landed files against bronze: weir verify retail --files\n\n{VERIFY_CODES}"
    )
)
def verify(
    pipeline: PipelineName,
    select: Annotated[
        list[str] | None, typer.Option(help="Only this table, as in silver.orders; may be given again.")
    ] = None,
    rows: Annotated[
        int, typer.Option(min=0, max=1_000, help="How many differing rows of a table are shown.")
    ] = 5,
    files: Annotated[
        bool,
        typer.Option(
            "--files",
            help="Instead, read the landed files again and compare them with bronze, record by record.",
        ),
    ] = False,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Recompute every table from bronze in plain batch and name the rows that differ. Changes nothing."""
    from spark_jobs.cli.verify import verify_command

    raise typer.Exit(verify_command(pipeline, tuple(select or ()), rows, profile, as_json, is_of_files=files))


@app.command(epilog=f"Example: weir state clickstream user_sessions --key user_id=7\n\n{STATE_CODES}")
def state(
    pipeline: PipelineName,
    table: Annotated[
        str,
        typer.Argument(
            help="A native gold table (state, dedup or join), as in gold.user_sessions.", metavar="TABLE"
        ),
    ],
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Only this key; once per column of the key."),
    ] = None,
    rows: Annotated[int, typer.Option(min=0, max=1_000, help="How many rows of each store are shown.")] = 10,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Show what a native stateful table keeps in its state store: operators, rows and values, sensitive ones
    masked. Changes nothing.
    """
    from spark_jobs.cli.state import state_command

    raise typer.Exit(state_command(pipeline, table, tuple(key or ()), rows, profile, as_json))


@app.command(epilog=f"Example: weir maintain retail --dry-run\n\n{MAINTAIN_CODES}")
def maintain(
    pipeline: Annotated[
        str | None,
        typer.Argument(help="A pipeline of conf/pipelines; without it all of them.", metavar="PIPELINE"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what there is to do, and do nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compact small files and delete what is no longer needed: old files, checkpoints, reports and logs.
    Changes no row.
    """
    from spark_jobs.cli.maintain import maintain_command

    raise typer.Exit(maintain_command(pipeline, dry_run, as_json))


@app.command(epilog=f"Example: weir take retail orders retail/orders/2024-05-01.json\n\n{EXIT_CODES}")
def take(
    pipeline: PipelineName,
    source: Annotated[str, typer.Argument(help="A source of the pipeline.", metavar="SOURCE")],
    path: Annotated[
        str, typer.Argument(help="The file below the landing root, as warnings name it.", metavar="PATH")
    ],
    as_json: Json = False,
) -> None:
    """Load a landed file that was refused, skipped as a repeat, or unreadable. The next run reads it."""
    from spark_jobs.cli.take import take_command

    raise typer.Exit(take_command(pipeline, source, path, as_json))


@app.command(epilog=f"Example: weir close retail orders\n\n{EXIT_CODES}")
def close(
    pipeline: PipelineName,
    source: Annotated[str | None, typer.Argument(help="Only this source.", metavar="[SOURCE]")] = None,
    as_json: Json = False,
) -> None:
    """Declare that what has arrived is complete: the next run closes the windows that are still open."""
    from spark_jobs.cli.take import close_command

    raise typer.Exit(close_command(pipeline, source, as_json))


@app.command(epilog=f"Example: weir propose retail orders --dry-run\n\n{EXIT_CODES}")
def propose(
    pipeline: PipelineName,
    source: Annotated[str, typer.Argument(help="The source to look at.")],
    table: Annotated[
        str | None, typer.Option(help="Name of the silver table, instead of the source's.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be written.")] = False,
    as_json: Json = False,
) -> None:
    """Propose a silver table with typed columns from what has landed, and write it into the pipeline file
    once.
    """
    from spark_jobs.cli.propose import propose_command

    raise typer.Exit(propose_command(pipeline, source, table, dry_run, as_json))


@app.command(epilog="Example: weir sample --orders 100000")
def sample(
    orders: Annotated[
        int, typer.Option(min=MIN_ORDERS, max=MAX_ORDERS, help="Orders of the first load.")
    ] = 1_000,
    increment: Annotated[int, typer.Option(min=0, max=MAX_INCREMENT, help=INCREMENT)] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 7,
    defect: Annotated[Literal["cents", "stuck"] | None, typer.Option(help=DEFECT)] = None,
    landing: Annotated[
        Path | None, typer.Option(help="Where to write, instead of the landing root of conf/lakehouse.yml.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write sample files of a retail company into the landing folders, with known dirt."""
    from spark_jobs.cli.sample import sample_command

    raise typer.Exit(sample_command(orders, increment, seed, defect, landing, as_json))


@app.command(epilog=f"Example: weir history --port 18080\n\n{HISTORY_CODES}")
def history(
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Where it answers, on loopback.")] = 18080,
) -> None:
    """Show the jobs, stages and plans of runs in Spark's history server. Runs leave them with a profile that
    has event_log: true.
    """
    from spark_jobs.cli.history import history_command

    raise typer.Exit(history_command(port))


@app.command(epilog="Example: weir setup --with kafka --with postgres")
def setup(
    components: Annotated[
        list[str], typer.Option("--with", help="Also the jars of kafka, postgres or s3. May be repeated.")
    ] = [],  # noqa: B006
    jars_only: Annotated[
        bool,
        typer.Option("--jars-only", help="Skip the class-data archive; cluster runs do not use it."),
    ] = False,
) -> None:
    """Fetch the jars and prepare the archive that makes Spark start faster. Once per machine; `make` calls
    it.
    """
    from spark_jobs.cli.setup import setup_command

    raise typer.Exit(setup_command(jars_only, components))


@app.command(epilog="Example: weir pack\n\nExit codes: 0 made, or there already · 1 the jars are missing")
def pack(as_json: Json = False) -> None:
    """Put Python packages, Spark and the jars into one archive, for the hosts of a YARN cluster:
    .envs/environment.tar.
    """
    from spark_jobs.cli.setup import pack_command

    raise typer.Exit(pack_command(as_json))
