"""Calls the `weir` command of the Spark environment, as a person would."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class WeirFailed(Exception):
    """A weir command of the demo failed; it has said why."""

    def __init__(self, arguments: tuple[str, ...], exit_code: int) -> None:
        self.arguments, self.exit_code = arguments, exit_code
        super().__init__(f"`weir {' '.join(arguments)}` ended with {exit_code}; its message is above.")


def weir(root: Path, *arguments: str) -> None:
    """Runs the command and lets it speak for itself."""
    sys.stdout.flush()
    ended = subprocess.run([_command(root), *arguments], cwd=root, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode:
        raise WeirFailed(arguments, ended.returncode)


def ask_weir(root: Path, *arguments: str) -> dict[str, Any]:
    """The JSON object that the command answers with."""
    asked = (*arguments, "--json")
    ended = subprocess.run(
        [_command(root), *asked],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise WeirFailed(asked, ended.returncode)
    answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer


def _command(root: Path) -> str:
    return os.environ.get("WEIR_COMMAND") or str(root / ".envs" / "spark" / "bin" / "weir")
