"""Parts of a landed file's path that have names: `orders/dt={day}` as a folder and a regular expression for
what is below it.
"""

import re

from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import check_column, shorten

PATH_PART = "_path."
"""Before the name of a part, where a column takes it."""
PART = re.compile(r"(\{[^{}]*\})")
EXAMPLE = "orders/dt={day}/shop={shop}"


def is_template(path: object) -> bool:
    return isinstance(path, str) and ("{" in path or "}" in path)


def is_part(taken: str) -> bool:
    """Whether what a column takes is a named part of a path."""
    return taken.startswith(PATH_PART)


def split_template(path: str) -> tuple[str, str]:
    """The folder before the first part with a name, and the expression for the whole path below it. Further
    folders and the name of the file may follow what is written.
    """
    if "*" in path:
        hint = (
            "leave out what follows the last part; the names of its files can be a 'pattern', as in '*.json'"
        )
        raise Hinted(f"* is no part of a name in {shorten(path)}", hint)
    pieces = path.strip("/").split("/")
    first = next(number for number, piece in enumerate(pieces) if is_template(piece))
    if first == 0:
        hint = f"begin with the folder that all its files are in, as in {EXAMPLE}"
        raise Hinted(f"{shorten(path)} names no folder", hint)
    names: list[str] = []
    expression = "/".join(_expression_of(piece, path, names) for piece in pieces[first:])
    return "/".join(pieces[:first]), f"{expression}(?:/[\\s\\S]*)?"


def _expression_of(piece: str, path: str, names: list[str]) -> str:
    """Of a folder or the name of a file; `names` are those so far."""
    if "}{" in piece:
        hint = "put something between the two, or write path_fields with an expression for each"
        raise Hinted(f"nothing in {shorten(path)} says where one part ends and the next begins", hint)
    found = []
    for text in PART.split(piece):
        if not PART.fullmatch(text):
            if is_template(text):
                raise Hinted(f"{shorten(path)} has a brace without its other half", f"write {EXAMPLE}")
            found.append(re.escape(text))
            continue
        name = check_column(text[1:-1])
        if name in names:
            raise Hinted(
                f"the part {name!r} is there twice in {shorten(path)}", "give each a name of its own"
            )
        names.append(name)
        found.append(f"(?P<{name}>[^/]+)")
    return "".join(found)
