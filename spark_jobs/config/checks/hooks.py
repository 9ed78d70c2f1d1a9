"""Python files that a pipeline names: read as text, never run, before anything starts."""

import ast
from pathlib import Path as FilePath

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.files import read_text
from spark_jobs.config.validation import Report


def read_module(reference: str, conf: FilePath, path: Path, report: Report) -> ast.Module | None:
    """What stands in the file of `hooks/retail.py:build`; None, after a problem, where it cannot be read."""
    file = reference.partition(":")[0]
    if not (conf / file).exists():
        there = sorted(found.relative_to(conf).as_posix() for found in conf.rglob("*.py"))
        report.add(path, reference, f"there is no file conf/{file}", did_you_mean(file, there))
        return None
    try:
        return ast.parse(read_text(conf / file))
    except OSError as error:
        message = f"the file conf/{file} cannot be read: {error.strerror}"
        report.add(path, reference, message, "write a regular file, and allow reading it")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is not UTF-8 text, or nested too deeply"
        line = getattr(error, "lineno", None) or 1
        report.add_in_file(
            conf / file, line, "", reference, f"the file is not Python: {reason}", "correct it"
        )
    return None
