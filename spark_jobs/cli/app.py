"""The commands of `weir`, each with its help, its example and its exit codes: here those that run and show.
Those of app_decide.py and app_upkeep.py join the same group when they are imported, below.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from spark_jobs import __version__
from spark_jobs.cli.cluster import RunsOnCluster, submit_command
from spark_jobs.cli.completing import tables_of_pipeline
from spark_jobs.cli.ending import fail
from spark_jobs.cli.group import (
    BUILD,
    DECIDE,
    EXIT_CODES,
    LOOK,
    RUN,
    AnyPipelineName,
    Json,
    PipelineName,
    app,
)
from spark_jobs.cli.profile import ProfileName
from spark_jobs.cli.quarantine import quarantine
from spark_jobs.config.hooks import leave
from spark_jobs.lake.storage import StorageFailed

__all__ = ["app", "main"]  # the group with all its commands: group.py alone has none

PLAN_CODES = (
    "Exit codes: 0 there is work · 1 a table cannot be read · 2 configuration or usage · 3 nothing to do"
)
STREAM_CODES = (
    "Exit codes: 0 stopped by somebody, or ended by itself · 1 gave up · 2 configuration or usage · 5 it is"
    " streaming already; available-now and once end as `weir run` does"
)
TO_REBUILD = "Tables, as in silver.orders; without them those whose definition has changed."

app.add_typer(quarantine, name="quarantine", rich_help_panel=DECIDE)


def main() -> None:
    """Run the command and leave at once: Arrow's reading threads may still be ending, and the interpreter's
    own way out can then abort (https://github.com/apache/arrow/issues/34314), which would turn a good result
    into a bad exit code.
    """
    try:
        app()
    except SystemExit as ending:
        code = ending.code
    except RunsOnCluster as elsewhere:
        code = submit_command(elsewhere, sys.argv[1:])
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


@app.command(epilog=f"Example: weir run retail --layer silver\n\n{EXIT_CODES}", rich_help_panel=RUN)
def run(
    pipeline: PipelineName,
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this table, as in silver.orders; may be given again.",
            autocompletion=tables_of_pipeline,
        ),
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
    """Load what has landed into bronze, silver and gold."""
    from spark_jobs.cli.run import run_command

    raise typer.Exit(run_command(pipeline, tuple(select or ()), layer, files_per_batch, profile, as_json))


@app.command(epilog=f"Example: weir plan retail\n\n{PLAN_CODES}", rich_help_panel=RUN)
def plan(pipeline: PipelineName, as_json: Json = False) -> None:
    """Show what a run would do and why, in about a second: without Spark, even while a run is active. Changes
    nothing.
    """
    from spark_jobs.cli.plan import plan_command

    raise typer.Exit(plan_command(pipeline, as_json))


@app.command(
    epilog=f"Example: weir stream retail --trigger '10 seconds' --listen 9464\n\n{STREAM_CODES}",
    rich_help_panel=RUN,
)
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


@app.command(
    epilog="Example: weir status retail --watch 2\n\nExit codes: 0 shown · 2 configuration or usage",
    rich_help_panel=LOOK,
)
def status(
    pipeline: AnyPipelineName = None,
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


@app.command(
    epilog="Example: weir check\n\nExit codes: 0 all is well · 2 problems were found", rich_help_panel=BUILD
)
def check(as_json: Json = False) -> None:
    """Check every file of conf/ and expectations/ and all that they name, without Spark."""
    from spark_jobs.cli.check import check_command

    raise typer.Exit(check_command(as_json))


@app.command(
    epilog="Example: weir schema > .vscode/weir-pipeline.schema.json\n\nExit codes: 0 printed · 2 usage",
    rich_help_panel=BUILD,
)
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
    ),
    rich_help_panel=LOOK,
)
def account(
    pipeline: AnyPipelineName = None,
    as_json: Json = False,
) -> None:
    """Show what became of every row that ever entered the tables of a pipeline, or of all."""
    from spark_jobs.cli.account import account_command

    raise typer.Exit(account_command(pipeline, as_json))


@app.command(
    epilog=(
        "Example: weir report retail --open\n\nExit codes: 0 made, or nothing has run yet · 2 configuration"
        " or usage, or no such run"
    ),
    rich_help_panel=LOOK,
)
def report(
    pipeline: AnyPipelineName = None,
    run: Annotated[
        str | None, typer.Option(help="The id of a run, instead of the newest one.", metavar="RUN_ID")
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write the data-quality report of a run, and the lists of reports, again from the ledger."""
    from spark_jobs.cli.report import report_command

    raise typer.Exit(report_command(pipeline, run, is_opened, as_json))


@app.command(
    epilog=f"Example: weir rebuild retail silver.orders --dry-run\n\n{EXIT_CODES}", rich_help_panel=RUN
)
def rebuild(
    pipeline: PipelineName,
    tables: Annotated[
        list[str] | None, typer.Argument(help=TO_REBUILD, metavar="TABLE", autocompletion=tables_of_pipeline)
    ] = None,
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


# Last, so that `weir --help` begins with `weir run`; the imports are what registers the commands.
from spark_jobs.cli import app_decide, app_look, app_upkeep  # noqa: E402, F401
