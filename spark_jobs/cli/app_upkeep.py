"""The commands that prove, look after and set up: verify, state, maintain, sample, history, setup, pack."""

from typing import Annotated, Literal

import typer

from spark_jobs.cli.completing import tables_of_pipeline
from spark_jobs.cli.group import BUILD, LOOK, OPERATE, AnyPipelineName, Json, PipelineName, app
from spark_jobs.cli.profile import ProfileName
from spark_jobs.sample import MAX_INCREMENT, MAX_ORDERS, MIN_ORDERS

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
HISTORY_CODES = (
    "Exit codes: 1 the server failed · 3 there is no event log yet · 130, 143 ended by Ctrl-C or SIGTERM"
)
SAMPLE_CODES = "Exit codes: 0 written · 1 the folder cannot be written · 2 configuration or usage"
SETUP_CODES = "Exit codes: 0 done, or there already · 1 no Java, or a jar cannot be fetched · 2 usage"
INCREMENT = "0: the first load; 1, 2, …: a later delivery with corrections, duplicates, late and broken rows."
DEFECT = (
    "Only the orders, all of them spoiled, under other file names: amounts in cents instead of euros, or a"
    " clock that is stuck. The same increment without it is the corrected delivery."
)


@app.command(
    epilog=(
        "Example: weir verify retail --select silver.orders --rows 20\n\n"
        f"The landed files against bronze: weir verify retail --files\n\n{VERIFY_CODES}"
    ),
    rich_help_panel=OPERATE,
)
def verify(
    pipeline: PipelineName,
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this table, as in silver.orders; may be given again.",
            autocompletion=tables_of_pipeline,
        ),
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


@app.command(
    epilog=f"Example: weir state clickstream user_sessions --key user_id=7\n\n{STATE_CODES}",
    rich_help_panel=LOOK,
)
def state(
    pipeline: PipelineName,
    table: Annotated[
        str,
        typer.Argument(
            help="A native gold table (state, dedup or join), as in gold.user_sessions.",
            metavar="TABLE",
            autocompletion=tables_of_pipeline,
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


@app.command(
    epilog=(
        "Example: weir doctor --fix\n\n"
        "Exit codes: 0 no problem, warnings aside · 1 something is bad · 2 usage"
    ),
    rich_help_panel=OPERATE,
)
def doctor(
    pipeline: AnyPipelineName = None,
    is_fixing: Annotated[
        bool, typer.Option("--fix", help="Do what is safe: fetch jars, make folders, upkeep. Changes no row.")
    ] = False,
    profile: ProfileName = None,  # noqa: ARG001 - its callback has taken it
    as_json: Json = False,
) -> None:
    """Look for what stands in the way of runs, each with its remedy. Java, jars, packages, storage, clock,
    lease, checkpoints, logs, files, Airflow; starts no Spark.
    """
    from spark_jobs.cli.doctor import doctor_command

    raise typer.Exit(doctor_command(pipeline, is_fixing, as_json))


@app.command(epilog=f"Example: weir maintain retail --dry-run\n\n{MAINTAIN_CODES}", rich_help_panel=OPERATE)
def maintain(
    pipeline: AnyPipelineName = None,
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


@app.command(epilog=f"Example: weir sample --orders 100000\n\n{SAMPLE_CODES}", rich_help_panel=BUILD)
def sample(
    orders: Annotated[
        int, typer.Option(min=MIN_ORDERS, max=MAX_ORDERS, help="Orders of the first load.")
    ] = 1_000,
    increment: Annotated[int, typer.Option(min=0, max=MAX_INCREMENT, help=INCREMENT)] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 7,
    defect: Annotated[Literal["cents", "stuck"] | None, typer.Option(help=DEFECT)] = None,
    landing: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Where to write, instead of the landing root of conf/lakehouse.yml."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write sample files of a retail company into the landing folders, with known dirt."""
    from spark_jobs.cli.sample import sample_command

    raise typer.Exit(sample_command(orders, increment, seed, defect, landing, as_json))


@app.command(epilog=f"Example: weir history --port 18080\n\n{HISTORY_CODES}", rich_help_panel=LOOK)
def history(
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Where it answers, on loopback.")] = 18080,
) -> None:
    """Show the jobs, stages and plans of runs in Spark's history server. Runs leave them with a profile that
    has event_log: true.
    """
    from spark_jobs.cli.history import history_command

    raise typer.Exit(history_command(port))


@app.command(
    epilog=f"Example: weir setup --with kafka --with postgres\n\n{SETUP_CODES}", rich_help_panel=OPERATE
)
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


@app.command(
    epilog="Example: weir pack\n\nExit codes: 0 made, or there already · 1 the jars are missing",
    rich_help_panel=OPERATE,
)
def pack(as_json: Json = False) -> None:
    """Put Python packages, Spark and the jars into one archive, for the hosts of a YARN cluster:
    .envs/environment.tar.
    """
    from spark_jobs.cli.setup import pack_command

    raise typer.Exit(pack_command(as_json))


@app.command(
    epilog=(
        "Example: weir completion bash > ~/.local/share/bash-completion/completions/weir\n\n"
        "For this shell alone: source <(weir completion bash)\n\nExit codes: 0 printed · 2 no such shell"
    ),
    rich_help_panel=OPERATE,
)
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "powershell"], typer.Argument(metavar="SHELL")],
) -> None:
    """Print the script by which bash, zsh, fish or powershell completes commands, options, pipelines and
    tables.
    """
    from spark_jobs.cli.completion import completion_command

    raise typer.Exit(completion_command(shell))
