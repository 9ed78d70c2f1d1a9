"""Numbers, times, states and origins as people read them, in the report and in the Airflow UI. Imports
nothing of the engine's.
"""

import json
import unicodedata
from datetime import UTC, datetime

from spark_jobs.config.text import count as count
from spark_jobs.config.text import rate as rate

# How states are shown, on the report and in the Airflow UI. Imports nothing, so that both sides can read it.

# What a state is called, its tone, and a sign, so that colour is never the only one.
TITLES = {
    "good": ("Good", "good", "✓"),
    "good_with_warnings": ("Good, with warnings", "warn", "!"),
    "bad": ("Bad data", "bad", "✗"),
    "blocked": ("Blocked", "bad", "✗"),
    "failed": ("Failed", "bad", "✗"),
    "stopped": ("Stopped", "warn", "■"),
    "killed": ("Killed", "bad", "✗"),
    "running": ("At work", "warn", "…"),
    "done": ("Up to date", "good", "✓"),
    "up_to_date": ("Nothing to do", "", "="),
    "not_reached": ("Not reached", "warn", "…"),
    "not_in_run": ("Not in this run", "", "·"),
    "no_trace": ("No trace of it", "", "·"),
    "met": ("Met", "good", "✓"),
    "tagged": ("Rows tagged", "info", "!"),
    "set_aside": ("Rows quarantined", "warn", "!"),
    "warning": ("Not met", "warn", "!"),
    "blocking": ("Not met", "bad", "✗"),
    "problem": ("Not judged", "bad", "?"),
    "released": ("Released", "warn", "!"),
    "release": ("Released", "warn", "!"),
    "hold": ("Left blocked", "bad", "✗"),
    "added": ("New, kept in bronze", "info", "+"),
    "missing": ("Missing, NULL in its rows", "warn", "-"),
    "returned": ("There again", "info", "+"),
    # As lists of earlier versions have them, until the next run writes them again.
    "held_back": ("Blocked", "bad", "✗"),
    "unfinished": ("Not ended", "warn", "…"),
}


def title_of(state: str) -> str:
    return TITLES[state][0] if state in TITLES else str(state)


def tone_of(state: str) -> str:
    """The class of its colour: good, warn, bad, info, or none."""
    return TITLES[state][1] if state in TITLES else ""


def sign_of(state: str) -> str:
    return TITLES[state][2] if state in TITLES else ""


# Numbers, times and texts as people read them. Times are UTC; ages are counted from when the page is made.

LONGEST = 80
JOINERS = "\u200c\u200d\ufe0f"
"""Hidden characters that other scripts and emoji need."""
ACCENTS = 3
MINUTE = 60
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def number(value: int | float | None) -> str:
    """With thousands separators; a dash where nothing is known."""
    return "–" if value is None else f"{value:,.0f}"


def share(failed: int | None, rows: int | None) -> str:
    """A part as percent: never "0 %" of something, never "100 %" of less than all."""
    if failed is None or not rows:
        return "–"
    percent = 100 * failed / rows
    if 0 < percent < 0.01:
        return "< 0.01 %"
    if 99.99 < percent < 100:
        return "> 99.99 %"
    return f"{percent:.2f}".rstrip("0").rstrip(".") + " %"


def moment(at: datetime | None) -> str:
    return "–" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def age(at: datetime | None, now: datetime) -> str:
    """How long before `now`, in the greatest unit that fits: "3 hours ago"."""
    seconds = (now - at).total_seconds() if at else 0.0
    if at is None or abs(seconds) < MINUTE:
        return "just now" if at else ""
    return f"{_span(seconds)} ago" if seconds > 0 else f"in {_span(seconds)}"


def apart(at: datetime | None, made_at: datetime) -> str:
    """The same on a page that is read later than it is made: "3 hours before this page"."""
    seconds = (made_at - at).total_seconds() if at else 0.0
    if at is None or abs(seconds) < MINUTE:
        return "as old as this page" if at else ""
    return f"{_span(seconds)} {'before' if seconds > 0 else 'after'} this page"


def _span(seconds: float) -> str:
    return next(count(int(abs(seconds) // size), unit) for size, unit in UNITS if abs(seconds) >= size)


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def cut(text: object, longest: int = LONGEST) -> str:
    """At most so many characters of a value from outside, on one line, with every character to be seen.

    Control and direction marks are written out: left in, they could turn around or hide what stands beside
    them. So are accents that are piled up: they would be painted over the lines around.
    """
    value = str(text)
    shown: list[str] = []
    piled = 0
    for character in value[:longest]:
        kind = unicodedata.category(character)
        piled = piled + 1 if kind in ("Mn", "Me") else 0
        is_hidden = kind in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and character not in JOINERS
        shown.append(f"\\u{ord(character):04x}" if is_hidden or piled > ACCENTS else character)
    return "".join(shown) if len(value) <= longest else f"{''.join(shown)}… ({len(value):,} characters)"


# What started a run, in words: a task of Airflow says it as JSON, others as they like.

OF_AIRFLOW = ("dag", "run", "task")
LONGEST_ORIGIN = 500


def say_origin(origin: str) -> str:
    """`Airflow: dag, run, task` where the origin is JSON of Airflow; else the text as it is."""
    try:
        known = json.loads(origin)
    except (ValueError, RecursionError):
        known = None
    if isinstance(known, dict) and all(isinstance(known.get(name), str) for name in OF_AIRFLOW):
        return cut(f"Airflow: {', '.join(known[name] for name in OF_AIRFLOW)}", LONGEST_ORIGIN)
    return cut(origin, LONGEST_ORIGIN)
