"""The commands by which a person decides: about a blocked batch, a landed file, the columns of a table."""

from typing import Annotated

import typer

from spark_jobs.cli.completing import sources_of_pipeline, tables_of_pipeline
from spark_jobs.cli.group import BUILD, DECIDE, EXIT_CODES, Json, PipelineName, app
from spark_jobs.cli.profile import ProfileName

HeldTable = Annotated[
    str,
    typer.Argument(
        help="The blocked table, as in silver.orders.", metavar="TABLE", autocompletion=tables_of_pipeline
    ),
]
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


@app.command(
    epilog=(
        'Example: weir release retail silver.orders --reason "the shop had a sale, the amounts are'
        f' right"\n\n{EXIT_CODES}'
    ),
    rich_help_panel=DECIDE,
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
    rich_help_panel=DECIDE,
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
    epilog=f'Example: weir hold retail silver.orders --reason "the shop looks into it"\n\n{EXIT_CODES}',
    rich_help_panel=DECIDE,
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
    epilog=f"Example: weir take retail orders retail/orders/2024-05-01.json\n\n{EXIT_CODES}",
    rich_help_panel=DECIDE,
)
def take(
    pipeline: PipelineName,
    source: Annotated[
        str,
        typer.Argument(
            help="A source of the pipeline.", metavar="SOURCE", autocompletion=sources_of_pipeline
        ),
    ],
    path: Annotated[
        str, typer.Argument(help="The file below the landing root, as warnings name it.", metavar="PATH")
    ],
    as_json: Json = False,
) -> None:
    """Load a landed file that was refused, skipped as a repeat, or unreadable. The next run reads it."""
    from spark_jobs.cli.take import take_command

    raise typer.Exit(take_command(pipeline, source, path, as_json))


@app.command(epilog=f"Example: weir close retail orders\n\n{EXIT_CODES}", rich_help_panel=DECIDE)
def close(
    pipeline: PipelineName,
    source: Annotated[
        str | None,
        typer.Argument(help="Only this source.", metavar="SOURCE", autocompletion=sources_of_pipeline),
    ] = None,
    as_json: Json = False,
) -> None:
    """Declare that what has arrived is complete: the next run closes the windows that are still open."""
    from spark_jobs.cli.take import close_command

    raise typer.Exit(close_command(pipeline, source, as_json))


@app.command(epilog=f"Example: weir propose retail orders --dry-run\n\n{EXIT_CODES}", rich_help_panel=BUILD)
def propose(
    pipeline: PipelineName,
    source: Annotated[str, typer.Argument(help="The source to look at.", autocompletion=sources_of_pipeline)],
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
