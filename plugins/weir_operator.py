"""The Airflow task that runs `weir run` in the Spark environment and returns its small JSON result.

Exit codes decide what Airflow does next: 0 and 3 (nothing to do) succeed; 2 (configuration) and 4 (blocked by quality) fail at once,
because a retry would meet the same files; every other end is worth a retry.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from weir_process import Finished, end_group, follow, start

SUCCESS = {0, 3}
FINAL = {2: "configuration error", 4: "data blocked by quality"}
PASSING = {1: "engine failure", 5: "another run holds the lease"}
GRACE_SECONDS = 20.0


class WeirOperator(BaseOperator):
    """Runs one pipeline, or a part of it. `arguments` follow the pipeline's name: ["--layer", "silver"]."""

    ui_color = "#cfe8ef"

    def __init__(
        self, *, pipeline: str, root: str, arguments: Sequence[str] = (), grace_seconds: float = GRACE_SECONDS, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.root = root
        self.arguments = list(arguments)
        self.grace_seconds = grace_seconds
        self._child: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        argv = [weir_command(Path(self.root)), "run", self.pipeline, *self.arguments, "--json"]
        try:
            self._child = start(argv, Path(self.root))
        except OSError as error:
            message = f"cannot start {argv[0]}: {error}. Run `make setup`, or name the command in WEIR_COMMAND."
            raise AirflowFailException(message) from error
        try:
            finished = follow(self._child, self.log.info, self.grace_seconds)
        finally:
            end_group(self._child, self.grace_seconds)
        return judge(argv, finished)

    def on_kill(self) -> None:
        """Says nothing: Airflow calls it in a signal handler, and the line being logged at that moment holds the logger's lock."""
        if self._child is not None:
            end_group(self._child, self.grace_seconds)


def weir_command(root: Path) -> str:
    """The command of the Spark environment, or the one that WEIR_COMMAND names."""
    return os.environ.get("WEIR_COMMAND") or str(root / ".envs" / "spark" / "bin" / "weir")


def judge(argv: Sequence[str], finished: Finished) -> dict[str, Any]:
    """The result of a run that went well; otherwise the exception that tells Airflow whether to try again."""
    result = _read_result(finished.last_line)
    if finished.exit_code in SUCCESS and result is not None:
        return result
    code = finished.exit_code
    reason = f"was ended by signal {-code}" if code < 0 else f"ended with {code} ({FINAL.get(code) or PASSING.get(code) or 'no result'})"
    message = f"{' '.join(argv[1:])} {reason}: {(result or {}).get('message') or 'see the lines above'}"
    raise AirflowFailException(message) if code in FINAL else AirflowException(message)


def _read_result(line: str) -> dict[str, Any] | None:
    try:
        result = json.loads(line)
    except ValueError:
        return None
    return result if isinstance(result, dict) else None
