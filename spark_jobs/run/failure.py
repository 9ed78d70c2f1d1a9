"""What is said of a failure: its cause in one line to a person, the whole story to the log."""

import traceback
from pathlib import Path

CALLED_INTO_JAVA = "An error occurred while calling"
"""How errors begin that came through from the JVM as they were; the cause is on the second line."""


def first_line(error: BaseException) -> str:
    """The cause in one line: Spark's errors begin with it and go on with pages of stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith(CALLED_INTO_JAVA):
        lines = [lines[1].removeprefix(": ")]
    return f"{type(error).__name__}: {lines[0][:500] if lines else 'no further word'}"


def keep_trace(log_file: Path, what: str, error: BaseException) -> None:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with open(log_file, "a", encoding="utf-8") as file:
        file.write(f"\n{what} failed:\n{''.join(traceback.format_exception(error))}\n")
