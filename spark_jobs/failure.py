"""What is said of a failure: its cause in one line to a person, the whole story to the log; to neither the
value of a row.
"""

import re
import traceback
from pathlib import Path

from spark_jobs.config.hooks import HookRaised
from spark_jobs.config.sensitive import MASK
from spark_jobs.config.text import plain, plain_lines
from spark_jobs.session.jvm_end import explain_end

CALLED_INTO_JAVA = "An error occurred while calling"
"""How errors begin that came through from the JVM as they were; the error is on the second line, what it came
from further below.
"""
CAUSED_BY = "Caused by: "
BECAUSE = re.compile(r"^(?:\x1b\[\d*m)?↳(?:\x1b\[\d*m)? *")
"""Before each line in which an error of delta-rs says what it came from, in colours."""
IN_WORKER = "An exception was thrown from the Python worker"
"""How an error of a function begins that Spark's own Python process has called; its traceback follows."""
FRAME = re.compile(
    r'^ +File "(?P<file>[^"]+)", line (?P<line>\d+), in .*\n(?:(?! +File ") .*\n)*', re.MULTILINE
)
KIND = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?::|$)", re.MULTILINE)
DATA_ERROR = re.compile(
    r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\] (?P<said>.*) ?SQLSTATE: (?P<state>22\w{3})", re.DOTALL
)
"""Spark's errors about a value bear the class 22 of the SQL standard. As far as the last of them: a value may
say SQLSTATE itself.

conf/log4j2.properties does the same to Spark's own log.
"""
CAST = re.compile(r'of the type "[A-Z0-9_(),<>: ]+" cannot be cast to "[A-Z0-9_(),<>: ]+"')
QUOTED_VALUE = re.compile(
    r"""(?P<said>For\ input\ string:\ |could\ not\ convert\ string\ to\ \w+:[ ]
    |invalid\ literal\ for\ int\(\)\ with\ base\ \d+:\ |\bText\ )
    (?P<quote>['"]).*(?P=quote)""",
    re.VERBOSE,
)
"""What Java and Python say of a text that is no number or time."""
WORKER_SAID = re.compile(
    r"""(?P<way>File\ "[^"\n]*/conf/[^"\n]*",\ line\ \d+[^\n]*\n(?:[ \t][^\n]*\n)*+)
    (?P<kind>[A-Za-z_][\w.]*):\ [^\n]*
    (?:\n(?![ \t]|JVM|Caused|Traceback)[^\n]+)*""",
    re.VERBOSE,
)
"""In the trace of a Python worker the way to an error of a file below conf/, its kind, and its words, which
may hold values of rows. The indented lines are taken once, for good (`*+`): where no words follow them, each
other way to take them would be tried, twice as many for every line.
"""


def first_line(error: BaseException) -> str:
    """The cause in one line: Spark's errors begin with it and go on with pages of stack. Where its process is
    gone, that is the cause.
    """
    ended = explain_end(error)
    if ended is not None:
        return ended
    if isinstance(error, HookRaised) and error.__cause__ is not None:
        kind = type(error.__cause__).__name__  # its own words name it already
        return (
            f"{type(error).__name__}: {plain(str(error))}:"
            f" {first_line(error.__cause__).removeprefix(f'{kind}: ')}"
        )
    lines = [line.strip() for line in without_values(str(error)).splitlines() if line.strip()]
    if lines and (lines[0].startswith(IN_WORKER) or WORKER_SAID.search(str(error))):
        lines = [_place_in_worker(str(error)) or lines[0]]
    elif len(lines) > 1 and lines[0].startswith(CALLED_INTO_JAVA):
        causes = [line for line in lines if line.startswith(CAUSED_BY)]
        lines = ["; ".join([lines[1].removeprefix(": ")[:300], *causes[-1:]])]
    elif deeper := [BECAUSE.sub("", line) for line in lines[1:] if BECAUSE.match(line)]:
        lines = [": ".join([lines[0], *deeper])]
    return f"{type(error).__name__}: {plain(lines[0][:500]).rstrip(';') if lines else 'no message'}"


def _place_in_worker(text: str) -> str | None:
    """What kind of error a function raised, and where: its words may hold values of rows."""
    frames = list(FRAME.finditer(text))
    kind = KIND.match(text, frames[-1].end()) if frames else None
    if kind is None:
        return None
    own = [
        frame
        for frame in frames
        if "/pyspark/" not in frame["file"] and "/site-packages/" not in frame["file"]
    ]
    return (
        f"{kind['kind']} at {own[-1]['file'].rpartition('/conf/')[2]} line {own[-1]['line']}"
        if own
        else kind["kind"]
    )


def without_values(text: str) -> str:
    """What an error says, without the value that it stumbled over: that stands in the tables, where it is
    looked after.
    """
    masked = WORKER_SAID.sub(rf"\g<way>\g<kind>: {MASK}", text)
    return QUOTED_VALUE.sub(rf"\g<said>{MASK}", DATA_ERROR.sub(_name_only, masked))


def keep_trace(log_file: Path, what: str, error: BaseException) -> None:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with open(log_file, "a", encoding="utf-8") as file:
        trace = plain_lines(without_values("".join(traceback.format_exception(error))))
        file.write(f"\n{what} failed:\n{trace}\n")


def keep_trace_outside(root: Path, pipeline: str, what: str, error: BaseException) -> Path:
    """Of a failure that belongs to no run's log: the run had not begun, or could not even note its end."""
    log_file = root / "logs" / pipeline / "failed.log"
    keep_trace(log_file, what, error)
    return log_file


def _name_only(found: re.Match[str]) -> str:
    cast = CAST.findall(found["said"])
    return f"[{found['condition']}] {MASK}{f' {cast[-1]}' if cast else ''} SQLSTATE: {found['state']}"
