"""How states are shown, on the report and in the Airflow UI. Imports nothing, so that both sides can read it."""

# What a state is called, its tone, and a sign, so that colour is never the only one.
TITLES = {
    "good": ("Good", "good", "✓"),
    "good_with_warnings": ("Good, with warnings", "warn", "!"),
    "held_back": ("Held back", "bad", "✗"),
    "failed": ("Failed", "bad", "✗"),
    "unfinished": ("Not ended", "warn", "…"),
    "done": ("Up to date", "good", "✓"),
    "stopped": ("Stopped", "warn", "…"),
    "not_reached": ("Not reached", "warn", "…"),
    "not_in_run": ("Not in this run", "", "·"),
    "met": ("Met", "good", "✓"),
    "set_aside": ("Rows set aside", "warn", "!"),
    "warning": ("Not met", "warn", "!"),
    "blocking": ("Not met", "bad", "✗"),
    "problem": ("Not judged", "bad", "?"),
    "blocked": ("Held back", "bad", "✗"),
    "released": ("Released", "warn", "!"),
    "release": ("Released", "warn", "!"),
    "hold": ("Left held", "bad", "✗"),
    "added": ("New, kept in bronze", "info", "+"),
    "missing": ("Missing, NULL in its rows", "warn", "-"),
}


def title_of(state: str) -> str:
    return TITLES[state][0] if state in TITLES else str(state)


def tone_of(state: str) -> str:
    """The class of its colour: good, warn, bad, info, or none."""
    return TITLES[state][1] if state in TITLES else ""


def sign_of(state: str) -> str:
    return TITLES[state][2] if state in TITLES else ""
