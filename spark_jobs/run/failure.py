"""What is said of a failure: its cause in one line to a person, the whole story to the log."""

import traceback
from pathlib import Path

CALLED_INTO_JAVA = "An error occurred while calling"
"""How errors begin that came through from the JVM as they were; the error is on the second line, what it came from further below."""
CAUSED_BY = "Caused by: "


def first_line(error: BaseException) -> str:
    """The cause in one line: Spark's errors begin with it and go on with pages of stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith(CALLED_INTO_JAVA):
        causes = [line for line in lines if line.startswith(CAUSED_BY)]
        lines = ["; ".join([lines[1].removeprefix(": ")[:300], *causes[-1:]])]
    return f"{type(error).__name__}: {lines[0][:500] if lines else 'no further word'}"


def keep_trace(log_file: Path, what: str, error: BaseException) -> None:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with open(log_file, "a", encoding="utf-8") as file:
        file.write(f"\n{what} failed:\n{''.join(traceback.format_exception(error))}\n")


def keep_trace_outside(root: Path, pipeline: str, what: str, error: BaseException) -> Path:
    """Of a failure that belongs to no run's log: the run had not begun, or could not even note its end."""
    log_file = root / "logs" / pipeline / "failed.log"
    keep_trace(log_file, what, error)
    return log_file
