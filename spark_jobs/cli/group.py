"""The group of all commands, and the options that they share. What it refuses, the parser's findings too, is
one JSON object where --json asks for that.
"""

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from spark_jobs.cli.ending import USAGE, refuse
from spark_jobs.config.errors import Refused, UsageError

JSON = "--json"


class WeirGroup(TyperGroup):
    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - click's own signature
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the arguments name, and leave with its exit code."""
        given = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.TyperException as error:
            _show(error)
            code = error.exit_code
            if JSON in given:
                said = error.format_message()
                about = {"pipeline": None, "status": UsageError.status, "exit_code": code, "message": said}
                print(json.dumps(about))
        except Refused as error:
            code = refuse(error, as_json=JSON in given)
        except typer.Abort:
            code = USAGE
        sys.exit(code or 0)


def _show(error: typer.TyperException) -> None:
    from typer.rich_utils import rich_format_error  # takes a tenth of a second

    rich_format_error(error)  # type: ignore[arg-type]


EXIT_CODES = (
    "Exit codes: 0 ok · 1 engine failure · 2 configuration or usage · 3 nothing to do · 4 data blocked by"
    " quality · 5 another run holds the pipeline · 6 stopped, run again to resume"
)
ABOUT = f"Weir runs a lakehouse: landed files become bronze, silver and gold Delta tables.\n\n{EXIT_CODES}"

app = typer.Typer(
    cls=WeirGroup, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", help=ABOUT
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
PipelineName = Annotated[str, typer.Argument(help="A pipeline of conf/pipelines.", metavar="PIPELINE")]
