"""`weir completion`: the script by which a shell completes commands, options, pipelines and tables."""

from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

from spark_jobs.cli.group import COMPLETE


def completion_command(shell: str) -> int:
    completion_init()
    print(get_completion_script(prog_name="weir", complete_var=COMPLETE, shell=shell))
    return 0
