"""Text that came with data, file names or messages, made harmless for a terminal, a log line or a
spreadsheet.

Nothing in it can move the cursor, change colours, turn the direction of writing or begin a line: what has
such a meaning is written out as \\xNN or \\uNNNN. Letters of every script stay as they are.
"""

import re

JOINERS = "\u200c\u200d"
"""Without width, but part of how some scripts are written: they stay."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula, also in the full-width forms
of these characters.
"""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def plain(text: object, limit: int | None = None) -> str:
    """The text on one line, without anything that a terminal would act on. With a limit: its beginning, and
    how long it is.
    """
    whole = str(text)
    cut = whole if limit is None or len(whole) <= limit else whole[:limit]
    shown = cut if cut.isprintable() else "".join(map(_visible, cut))
    return shown if cut is whole else f"{shown}…({len(whole):,} characters)"


def plain_lines(text: object) -> str:
    """A message of several lines, each made plain. For messages of our own, whose parts from outside are
    plain or quoted already.
    """
    return "\n".join(plain(line) for line in str(text).expandtabs(4).split("\n"))


def count(value: int, one: str, many: str | None = None) -> str:
    """A number with its noun, as in "1 row" and "2,080 rows"; `many` where the plural is not made by an s."""
    return f"{value:,} {one if value == 1 else many or f'{one}s'}"


def rate(rows: int, seconds: float | None) -> str:
    """How many rows a second: "1,240 rows/s", "1 row/s", and "< 1 row/s" instead of none."""
    if not rows or not seconds:
        return "–"
    found = round(rows / seconds)
    return f"{count(found, 'row')}/s" if found else "< 1 row/s"


def one_line(text: str) -> str:
    """The text on one line, without control characters: for what a person or program gives as a name, and is
    kept as such.
    """
    return "".join(
        character for character in " ".join(text.split()) if character.isprintable() or character in JOINERS
    ).strip()


def safe_cell(value: object) -> str:
    """A value for a CSV cell, on one line: with an apostrophe before what a spreadsheet would take for a
    formula. Numbers stay numbers.
    """
    text = "" if value is None else str(value)
    is_formula = text.startswith(FORMULA) and not NUMBER.fullmatch(text)
    return f"'{plain(text)}" if is_formula else plain(text)


def _visible(character: str) -> str:
    if character.isprintable() or character in JOINERS:
        return character
    return character.encode("unicode_escape").decode()
