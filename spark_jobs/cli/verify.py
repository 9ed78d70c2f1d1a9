"""`weir verify`: each table as it is done, the first differing rows, and the verdict; or all of it as one
JSON object.
"""

import sys
import time

from spark_jobs.cli.ending import end, result_alone
from spark_jobs.cli.run import known_profile
from spark_jobs.config.checks.project import check_pipeline
from spark_jobs.config.errors import ConfigError, Refused
from spark_jobs.config.hooks import leave
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import count, plain
from spark_jobs.verify.files import verify_files
from spark_jobs.verify.pipeline import verify_pipeline
from spark_jobs.verify.result import Difference, Kind, Outcome, TableCheck, Verification

LINE_LENGTH = 400
NOT_COMPARED_SHOWN = 5
SECONDS_BETWEEN_LINES = 5


def verify_command(
    name: str,
    select: tuple[str, ...],
    rows: int,
    profile: str | None,
    as_json: bool,
    *,
    is_of_files: bool = False,
) -> int:
    try:
        project = load_project(only=name)
        problems = check_pipeline(project.pipelines[name], project.conf, project.rules[name])
        if problems:
            raise ConfigError(problems)
        if is_of_files:
            found = verify_files(project, name, select, rows, _tell, _Progress())
        else:
            chosen = known_profile(project, profile)
            with result_alone(as_json):
                found = verify_pipeline(project, name, chosen, select, rows, tell=_tell)
    except Refused as error:
        found = Verification(name, Outcome(error.status), error.said)
    except KeyboardInterrupt:
        print("interrupted: nothing was changed", file=sys.stderr, flush=True)
        leave(130)  # the JVM ends with this process
    return _end(found, as_json)


def _tell(check: TableCheck) -> None:
    """A line when a table is done."""
    state = (
        "failed"
        if check.error
        else "skipped"
        if check.skipped
        else "equal"
        if check.is_equal
        else "different"
    )
    print(
        f"{check.table:<34} {state:<10} {_numbers(check)} in {check.seconds:.1f} s",
        file=sys.stderr,
        flush=True,
    )
    if check.left_out:
        print(plain(f"  not decoded twice: {', '.join(check.left_out)}"), file=sys.stderr, flush=True)


class _Progress:
    """A line now and then while files are read."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def __call__(self, table: str, done: int, total: int) -> None:
        if time.monotonic() - self._said_at > SECONDS_BETWEEN_LINES:
            self._said_at = time.monotonic()
            print(f"{table}: {done:,} of {count(total, 'file')}", file=sys.stderr, flush=True)


def _numbers(check: TableCheck) -> str:
    again = "only in the file" if check.files is not None else "only recomputed"
    differing = (
        (check.only_here, "only in the table"),
        (check.only_recomputed, again),
        (check.different, "different"),
    )
    counts = [f"{number:,} {what}" for number, what in differing if number]
    files = [] if check.files is None else [count(check.files, "file")]
    skipped = [f"{len(check.not_compared):,} not compared"] if check.not_compared else []
    skipped += [f"{check.sampled:,} decoded twice"] if check.sampled else []
    return ", ".join([*files, count(check.rows, "row"), *counts, *skipped])


def _end(found: Verification, as_json: bool) -> int:
    if not as_json:
        for check in found.tables:
            if not check.is_equal:
                print("\n".join(map(plain, _report(check))))
            for path, reason in check.not_compared[:NOT_COMPARED_SHOWN]:
                print(plain(f"not compared: {path!r}: {reason}"))
            if len(check.not_compared) > NOT_COMPARED_SHOWN:
                print(
                    f"and {len(check.not_compared) - NOT_COMPARED_SHOWN:,} more: `weir verify --files --json`"
                    " names them all"
                )
    is_good = found.status in (Outcome.OK, Outcome.NOTHING_TO_DO)
    words = {Outcome.OK: "ok", Outcome.NOTHING_TO_DO: "nothing to verify"}
    line = (
        f"{found.pipeline}: {words[found.status]}: {found.message}" if is_good else f"error: {found.message}"
    )
    took = f" ({found.seconds:.1f} s)" if found.seconds else ""
    return end(found.exit_code, f"{line}{took}", found.as_dict(), as_json=as_json)


def _report(check: TableCheck) -> list[str]:
    """What is wrong with one table, and its first differing rows by their keys."""
    lines = [f"{check.table}: {_numbers(check)}"]
    lines += [f"  {said}" for said in (*check.problems, check.error, check.hint) if said]
    lines += [f"  {line}" for row in check.first for line in _lines(row, is_of_file=check.files is not None)]
    more = check.only_here + check.only_recomputed + check.different - len(check.first)
    return [*lines, *([f"  and {more:,} more"] if check.first and more > 0 else [])]


def _lines(row: Difference, *, is_of_file: bool) -> list[str]:
    key = ", ".join(f"{name}={value}" for name, value in row.key.items()) or "the only row"
    if row.kind is Kind.DIFFERENT:
        other = "the file" if is_of_file else "recomputed"
        return [
            f"{key}: {name}: the table has {here}, {other} {again}"
            for name, (here, again) in row.columns.items()
        ]
    again = "only in the file" if is_of_file else "only recomputed"
    side, what = (0, "only in the table") if row.kind is Kind.ONLY_HERE else (1, again)
    values = ", ".join(f"{name}={both[side]}" for name, both in row.columns.items())
    line = f"{key}: {what}{': ' if values else ''}{values}"
    return [line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 1]}…"]
