"""`weir quarantine`: what was set aside, and what a person does about it. Each command with its help and its
example.
"""

from pathlib import Path
from typing import Annotated

import typer

from spark_jobs.cli.completing import pipeline_names, tables_of_pipeline
from spark_jobs.cli.profile import ProfileName

MOST = 10_000
CODES = "Exit codes: 0 ok, also where nothing is quarantined · 2 configuration or usage"
RUN_CODES = (
    "Exit codes: 0 ok · 1 engine failure · 2 configuration or usage · 3 no such row · 4 data blocked by"
    " quality · 5 another run holds the pipeline"
)

HELP = "Look at the rows and files that were set aside, replay or discard them."
quarantine = typer.Typer(no_args_is_help=True, help=HELP, epilog="Example: weir quarantine list retail")

PipelineName = Annotated[
    str,
    typer.Argument(help="A pipeline of conf/pipelines.", metavar="PIPELINE", autocompletion=pipeline_names),
]
TableName = Annotated[
    str,
    typer.Argument(
        help="A dimension or silver table, as in silver.orders.",
        metavar="TABLE",
        autocompletion=tables_of_pipeline,
    ),
]
AnyTable = Annotated[
    str,
    typer.Argument(
        help="A dimension or silver table; or a bronze table, for its files.",
        metavar="TABLE",
        autocompletion=tables_of_pipeline,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would become of the rows, and change nothing.")
]
Rules = Annotated[
    list[str] | None,
    typer.Option("--rule", help="Only what this rule set aside; `type` means `type bigint`, too."),
]
Files = Annotated[
    list[str] | None,
    typer.Option("--file", help="Only of this file, or of files that match this glob. Again for more."),
]
Since = Annotated[
    str | None,
    typer.Option(help="Only first seen on this day (UTC) or later, as in 2026-03-31.", metavar="DATE"),
]
Until = Annotated[
    str | None, typer.Option(help="Only first seen on this day (UTC) or earlier.", metavar="DATE")
]
State = Annotated[str, typer.Option(help="open, replayed, discarded or all.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]


@quarantine.command(
    "list", epilog=f"Example: weir quarantine list retail silver.orders --rule amount_in_range\n\n{CODES}"
)
def list_(
    pipeline: PipelineName,
    table: Annotated[
        str | None,
        typer.Argument(
            help="Its rows one by one; of a bronze table its files.",
            metavar="TABLE",
            autocompletion=tables_of_pipeline,
        ),
    ] = None,
    rule: Rules = None,
    file: Files = None,
    since: Since = None,
    until: Until = None,
    state: State = "open",
    limit: Annotated[
        int, typer.Option(min=1, max=MOST, help="How many rows, the newest first, or files are shown.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Count the rows that each rule has quarantined, and name the files that were not taken. With a table,
    list its rows.
    """
    from spark_jobs.cli.quarantine_list import list_command

    raise typer.Exit(list_command(pipeline, table, (rule, file, since, until, state), limit, as_json))


@quarantine.command(
    epilog=(
        "Example: weir quarantine show retail silver.orders --since 2026-03-01 --csv"
        f" bad_orders.csv\n\n{CODES}"
    )
)
def show(
    pipeline: PipelineName,
    table: TableName,
    rule: Rules = None,
    file: Files = None,
    since: Since = None,
    until: Until = None,
    state: State = "open",
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, help=f"How many rows, the newest first: 20, or {MOST} with --csv."),
    ] = None,
    as_json: Json = False,
    csv: Annotated[
        Path | None, typer.Option(help="Write them to this file, for a spreadsheet.", metavar="FILE")
    ] = None,
) -> None:
    """Show quarantined rows with every reason and the record as it arrived; sensitive values are masked."""
    from spark_jobs.cli.quarantine_list import show_command

    raise typer.Exit(show_command(pipeline, table, (rule, file, since, until, state), limit, as_json, csv))


@quarantine.command(
    epilog=(
        f"Example: weir quarantine replay retail silver.orders --rule known_status --dry-run\n\n{RUN_CODES}"
    )
)
def replay(
    pipeline: PipelineName,
    table: AnyTable,
    rule: Rules = None,
    file: Files = None,
    since: Since = None,
    until: Until = None,
    dry_run: DryRun = False,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Process open rows again by today's definition and rules: those that pass are published, the others stay
    with their new reasons.

    Of a bronze table, take in the files named with --file.
    """
    from spark_jobs.cli.quarantine_requests import replay_command

    raise typer.Exit(replay_command(pipeline, table, (rule, file, since, until), dry_run, profile, as_json))


@quarantine.command(
    epilog=(
        'Example: weir quarantine discard retail silver.orders --file "*03-01*" --reason "sent'
        f' twice"\n\n{RUN_CODES}'
    )
)
def discard(
    pipeline: PipelineName,
    table: AnyTable,
    reason: Annotated[str, typer.Option(help="Why, for those who read it later.")],
    rule: Rules = None,
    file: Files = None,
    since: Since = None,
    until: Until = None,
    dry_run: DryRun = False,
    profile: ProfileName = None,
    as_json: Json = False,
) -> None:
    """Discard open rows: they stay in quarantine and count as quarantined, but are open no longer.

    Of a bronze table, leave out the files named with --file.
    """
    from spark_jobs.cli.quarantine_requests import discard_command

    raise typer.Exit(
        discard_command(pipeline, table, (rule, file, since, until), reason, dry_run, profile, as_json)
    )
