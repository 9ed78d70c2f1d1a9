"""The option --profile: the whole command works by it, since a profile may also say where the tables are."""

import os
from typing import Annotated

import typer

VARIABLE = "WEIR_PROFILE"


def _use(name: str | None) -> str | None:
    if name:
        os.environ[VARIABLE] = name
    return name


ProfileName = Annotated[
    str | None, typer.Option(help="A profile of conf/profiles instead of the one in conf/lakehouse.yml; as WEIR_PROFILE.", callback=_use)
]
