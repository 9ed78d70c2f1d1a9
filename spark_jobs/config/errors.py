"""What a command refuses before it begins: a configuration with problems, one Problem per mistake with its place; or a command line that
cannot be meant.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.config.synonyms import SYNONYMS

LISTED = 30


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """A hint for a value that is not among the allowed ones: the nearest of them, and the list."""
    choices = list(dict.fromkeys(allowed))
    if not choices:
        return "there are none to choose from"
    near = nearest(value, choices)
    listed = ", ".join(choices[:LISTED]) + (f" and {len(choices) - LISTED} more" if len(choices) > LISTED else "")
    return (f"did you mean {near!r}? " if near else "") + f"allowed: {listed}"


def nearest(value: str, choices: Iterable[str]) -> str | None:
    """The choice that a misspelt value was meant for, or one of another tool's words; a table may be named without its layer."""
    by_lower = {choice.lower(): choice for choice in choices}
    if known := [by_lower[here] for here in SYNONYMS.get(value.lower(), ()) if here in by_lower]:
        return known[0]
    found = difflib.get_close_matches(value.lower(), by_lower, n=1, cutoff=0.6)
    if not found:
        by_tail = {lower.rpartition(".")[2]: choice for lower, choice in reversed(by_lower.items())}
        tails = difflib.get_close_matches(value.lower().rpartition(".")[2], by_tail, n=1, cutoff=0.75)
        return by_tail[tails[0]] if tails else None
    return by_lower[found[0]]


@dataclass(frozen=True)
class Problem:
    """One mistake: its file (relative to the project), line and key path, the value found there, and what to do."""

    file: str
    line: int
    where: str
    value: object
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: {self.where + ': ' if self.where else ''}"
        return f"{place}{self.message}" + (f"\n    {self.hint}" if self.hint else "")


class Hinted(ValueError):
    """A value that cannot be used: what is wrong with it, and apart from that what to do, since a value may hold any mark between them."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        super().__init__(f"{message}; {hint}")


class Withheld(Hinted):
    """The same of a value that is, or holds, a secret: nobody is shown it."""


class Refused(Exception):
    """What a command was given cannot be used, and nothing was begun: it ends with exit code 2."""

    status = "config_error"
    """What the command's JSON says."""

    @property
    def said(self) -> str:
        """For a person, after `error: `."""
        return str(self)


class UsageError(Refused):
    """A mistake on the command line; the files of the project have nothing to do with it.

    `where` is the option or argument, as in --select or TABLE, `value` what it got.
    """

    status = "usage_error"

    def __init__(self, where: str, value: object, message: str, hint: str = "") -> None:
        self.where, self.value, self.message, self.hint = where, value, message, hint
        super().__init__(f"{where}: {message}" + (f"\n    {hint}" if hint else ""))


class ConfigError(Refused):
    """The configuration cannot be used; `problems` says why, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set_aside_repeats(problems), key=lambda problem: (problem.file, problem.line))
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @property
    def said(self) -> str:
        return f"the configuration cannot be used\n{self}"


def set_aside_repeats(problems: Iterable[Problem]) -> list[Problem]:
    """The problems without those that say the same of the same place (values need not be hashable)."""
    return list({(problem.file, problem.line, problem.where, problem.message): problem for problem in problems}.values())
