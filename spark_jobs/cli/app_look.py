"""The commands that look at rows, without a JVM: query, show, diff."""

from typing import Annotated

import typer

from spark_jobs.cli.completing import tables_of_lake
from spark_jobs.cli.group import LOOK, Json, app
from spark_jobs.cli.profile import ProfileName

QUERY_CODES = (
    "Exit codes: 0 shown · 1 the query failed · 2 configuration or usage, or no query over tables · 3 a table"
    " is not there yet"
)
LOOK_CODES = (
    "Exit codes: 0 shown · 1 rows cannot be read · 2 configuration or usage · 3 the table is not there yet"
)
MOST_ROWS = 1_000_000
TABLE = "A table, as in retail.silver.orders, or of an earlier version as in retail.silver.orders@v3."


@app.command(
    epilog=(
        'Example: weir query "select city, sum(revenue) from retail.gold.revenue_per_hour group by city"\n\n'
        'As it was: weir query "select count(*) from retail.silver.orders@v3"\n\n' + QUERY_CODES
    ),
    rich_help_panel=LOOK,
)
def query(
    sql: Annotated[
        str, typer.Argument(help="One SELECT in DuckDB's SQL; - takes it from standard input.", metavar="SQL")
    ],
    limit: Annotated[int, typer.Option(min=0, max=MOST_ROWS, help="How many rows are shown.")] = 100,
    profile: ProfileName = None,  # noqa: ARG001 - its callback has taken it
    as_json: Json = False,
) -> None:
    """Ask tables in SQL, without Spark: those of all pipelines, quarantine and ledger. Sensitive values are
    masked.
    """
    from spark_jobs.cli.query import query_command

    raise typer.Exit(query_command(sql, limit, as_json))


@app.command(
    epilog=(
        "Example: weir show retail.silver.orders --rows 20\n\n"
        f"As it was: weir show retail.silver.orders@v3\n\n{LOOK_CODES}"
    ),
    rich_help_panel=LOOK,
)
def show(
    table: Annotated[
        str | None,
        typer.Argument(
            help=f"{TABLE} Without one, the list of all.", metavar="TABLE", autocompletion=tables_of_lake
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=0, max=MOST_ROWS, help="How many rows are shown.")] = 10,
    history: Annotated[int, typer.Option(min=0, max=10_000, help="How many of its newest versions.")] = 10,
    profile: ProfileName = None,  # noqa: ARG001 - its callback has taken it
    as_json: Json = False,
) -> None:
    """Show a table, without Spark: its version, size, columns, history and first rows. Sensitive values are
    masked.
    """
    from spark_jobs.cli.show import show_command

    raise typer.Exit(show_command(table, rows, history, as_json))


@app.command(
    epilog=(
        "Example: weir diff retail.silver.orders --from v3\n\n"
        "Between two times: weir diff retail.silver.orders --from 2026-03-01 --to 2026-03-02\n\n"
        f"{LOOK_CODES}; where nothing differs, too, it is 0"
    ),
    rich_help_panel=LOOK,
)
def diff(
    table: Annotated[
        str,
        typer.Argument(
            help="A table, as in retail.silver.orders.", metavar="TABLE", autocompletion=tables_of_lake
        ),
    ],
    before: Annotated[
        str, typer.Option("--from", metavar="V", help="A version: its number, or a time as in 2026-03-01.")
    ],
    after: Annotated[
        str | None, typer.Option("--to", metavar="V", help="Likewise; without it the newest.")
    ] = None,
    rows: Annotated[int, typer.Option(min=0, max=10_000, help="How many differing rows are shown.")] = 20,
    profile: ProfileName = None,  # noqa: ARG001 - its callback has taken it
    as_json: Json = False,
) -> None:
    """Compare two versions of a table by its key, without Spark: rows that came, went and changed. Sensitive
    values are masked.
    """
    from spark_jobs.cli.diff import diff_command

    raise typer.Exit(diff_command(table, before, after, rows, as_json))
