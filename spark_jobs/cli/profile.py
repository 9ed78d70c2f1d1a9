"""The option --profile: the whole command works by it, since a profile may also say where the tables are."""

import os
from typing import Annotated

import typer

from spark_jobs.cli.completing import profile_names

VARIABLE = "WEIR_PROFILE"


def _use(context: typer.Context, name: str | None) -> str | None:
    if name:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = name
        context.call_on_close(lambda: _restore(before))
    return name


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = before


ProfileName = Annotated[
    str | None,
    typer.Option(
        help="A profile of conf/profiles instead of the one in conf/lakehouse.yml; as WEIR_PROFILE.",
        callback=_use,
        autocompletion=profile_names,
    ),
]
