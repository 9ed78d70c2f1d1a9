"""What may come next on a command line, for the shell that asks. Whatever is wrong with the project,
the shell is told of no error: then there is nothing to propose.
"""

import typer

from spark_jobs.config.root import find_root


def pipeline_names(incomplete: str) -> list[str]:
    return _stems("pipelines", incomplete)


def profile_names(incomplete: str) -> list[str]:
    return _stems("profiles", incomplete)


def tables_of_pipeline(ctx: typer.Context, incomplete: str) -> list[str]:
    """As in silver.orders, of the pipeline that stands before it."""
    return [name for name in _tables(ctx) if name.startswith(incomplete)]


def sources_of_pipeline(ctx: typer.Context, incomplete: str) -> list[str]:
    sources = [name.removeprefix("bronze.") for name in _tables(ctx) if name.startswith("bronze.")]
    return [name for name in sources if name.startswith(incomplete)]


def tables_of_lake(incomplete: str) -> list[str]:
    """As in retail.silver.orders; what stands beside a table once somebody begins to write it."""
    from spark_jobs.config.names import SIDES

    names = list(_known())
    data = [name for name in names if name.split(".")[1] not in (*SIDES, "ledger", "arrivals")]
    found = [name for name in data if name.startswith(incomplete)]
    return found or [name for name in names if name.startswith(incomplete)]


def _stems(folder: str, incomplete: str) -> list[str]:
    found = sorted(path.stem for path in (find_root() / "conf" / folder).glob("*.yml"))
    return [name for name in found if name.startswith(incomplete)]


def _tables(ctx: typer.Context) -> list[str]:
    from spark_jobs.config.errors import Refused
    from spark_jobs.config.graph import table_names
    from spark_jobs.config.loading import load_project

    # behind an option that waits for its value nothing is parsed yet
    known = pipeline_names("")
    name = next((word for word in (ctx.params.get("pipeline"), *ctx.args) if word in known), None)
    if name is None:
        return []
    try:
        return table_names(load_project(only=name).pipelines[name])
    except Refused:
        return []


def _known() -> list[str]:
    from spark_jobs.config.errors import Refused
    from spark_jobs.config.loading import load_project
    from spark_jobs.look.names import known_tables

    try:
        return list(known_tables(load_project()))
    except Refused:
        return []
