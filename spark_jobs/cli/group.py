"""The group of all commands, and the options that they share. What it refuses, the parser's findings too, is
one JSON object where --json asks for that.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from spark_jobs.cli.completing import pipeline_names
from spark_jobs.cli.ending import USAGE, refuse
from spark_jobs.config.errors import Refused, UsageError

if TYPE_CHECKING:
    from typer import _click

JSON = "--json"
COMPLETE = "_WEIR_COMPLETE"
"""Set by the script of `weir completion` when the shell asks what may come next."""
BUILD, RUN, LOOK, DECIDE, OPERATE = "Build", "Run", "Look", "Decide", "Operate"
GROUPS = {
    BUILD: "write pipelines and try them",
    RUN: "bring tables up to date",
    LOOK: "at rows, states and accounts; nothing is changed",
    DECIDE: "about what is blocked or set aside",
    OPERATE: "keep it well",
}
"""What people do with it: each command says in its `rich_help_panel` where it belongs."""


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
        if os.environ.get(COMPLETE):
            from typer._completion_classes import completion_init

            completion_init()
        try:
            code = super().main(
                args, prog_name, complete_var or COMPLETE, False, windows_expand_args, **extra
            )
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

    def format_help(self, ctx: "_click.Context", formatter: "_click.HelpFormatter") -> None:
        """Without rich, which takes as long as all the rest: in the groups of what people do."""
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(ABOUT)
        for group, about in GROUPS.items():
            commands = [
                (name, command)
                for name, command in self.commands.items()
                if _group_of(command) == group and not command.hidden
            ]
            with formatter.section(f"{group} ({about})"):
                formatter.write_dl([(name, _first_sentence(command.help)) for name, command in commands])
        with formatter.section("Options"):
            options = [record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
            formatter.write_dl(options)
        formatter.write_paragraph()
        formatter.write_text(f"{EXIT_CODES}. `weir COMMAND --help` has an example and the codes of each.")


def _group_of(command: "_click.Command") -> str:
    panel = getattr(command, "rich_help_panel", None)
    return panel if isinstance(panel, str) else OPERATE


def _first_sentence(help_: str | None) -> str:
    words = " ".join((help_ or "").split())
    return words.partition(". ")[0].removesuffix(".")


def _show(error: typer.TyperException) -> None:
    from typer.rich_utils import rich_format_error  # takes a tenth of a second

    rich_format_error(error)  # type: ignore[arg-type]


EXIT_CODES = (
    "Exit codes: 0 ok · 1 engine failure · 2 configuration or usage · 3 nothing to do · 4 data blocked by"
    " quality · 5 another run holds the pipeline · 6 stopped, run again to resume"
)
ABOUT = "Weir runs a lakehouse: landed files become bronze, silver and gold Delta tables."

app = typer.Typer(
    cls=WeirGroup, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", help=ABOUT
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
PipelineName = Annotated[
    str,
    typer.Argument(help="A pipeline of conf/pipelines.", metavar="PIPELINE", autocompletion=pipeline_names),
]
AnyPipelineName = Annotated[
    str | None,
    typer.Argument(
        help="A pipeline of conf/pipelines; without it all of them.",
        metavar="PIPELINE",
        autocompletion=pipeline_names,
    ),
]
