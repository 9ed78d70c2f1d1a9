"""How states are shown, on the report and in the Airflow UI. Imports nothing, so that both sides can read it."""

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
