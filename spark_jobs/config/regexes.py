"""Judges regular expressions without Java, whose dialect Spark speaks: what both dialects refuse, and what Java does not know."""

import re
import warnings

# What Python writes in its own way only.
PYTHON_ONLY = {
    "(?P<": "name a group as in (?<name>…)",
    "(?P=": "repeat a named group as in \\k<name>",
    "(?(": "Java has no conditions; write both cases with |",
    "(?#": "Java has no comments here; say it in the reason",
}
# What Java writes in its own way, and something that Python can read in the same place.
JAVA_ONLY = [
    (r"\\Q.*?(?:\\E|$)", "q"),
    (r"\\[pP](?:\{[\w=]+\}|\w)", "\\w"),
    (r"\\x\{[0-9A-Fa-f]+\}", "x"),
    (r"\\k<\w+>", "k"),
    (r"\\[hHvRXeGzZ]", "\\s"),
    (r"\(\?<[A-Za-z]\w*>", "("),
    (r"\(\?[idmsuxU-]+\)", "(?:)"),
    (r"\(\?[idmsuxU-]+:", "(?:"),
    (r"&&", ""),
]
UNESCAPED = r"(?<!\\)((?:\\\\)*)"


def judge_regex(pattern: str) -> tuple[str, str] | None:
    """What is wrong with a regular expression: message and hint; None where nothing can be told."""
    for mark, hint in PYTHON_ONLY.items():
        if re.search(UNESCAPED + re.escape(mark), pattern):
            return f"{mark!r} is not known to Spark's regular expressions, which are Java's", hint
    readable = pattern
    for java, python in JAVA_ONLY:
        readable = re.sub(UNESCAPED + java, lambda match, python=python: match[1] + python, readable)  # type: ignore[misc]
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(readable)
    except re.error as error:
        if "look-behind" in error.msg:  # Java takes one of several lengths
            return None
        return f"it is not a regular expression: {error.msg}", "correct it; a mark that is meant as such is written as in \\( or \\["
    return None
