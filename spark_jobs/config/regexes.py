"""Judges regular expressions before they are used: of rules without Java, whose dialect Spark speaks (what both dialects refuse, and what
Java does not know); of log lines without RE2, whose dialect is Python's but for what can take for ever.
"""

import re
import warnings

from spark_jobs.config.names import check_column

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
# What RE2 leaves out, because it needs to look back.
NOT_IN_RE2 = {
    "(?=": "it looks ahead",
    "(?!": "it looks ahead",
    "(?<=": "it looks back",
    "(?<!": "it looks back",
    "(?P=": "it repeats a group",
    "(?(": "it depends on a group",
    "(?>": "it is atomic",
    "(?#": "it is a comment",
}
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


def group_names(pattern: str) -> list[str]:
    """The names of the groups, in their order."""
    return list(re.compile(pattern).groupindex)


def judge_line_regex(pattern: str) -> tuple[str, str] | None:
    """What is wrong with the expression for the fields of a line: message and hint; None where it can be used."""
    for mark, why in NOT_IN_RE2.items():
        if re.search(UNESCAPED + re.escape(mark), pattern):
            return f"{mark!r} cannot be used here: {why}, which may take for ever", "say it without; other columns can test further by sql"
    if re.search(UNESCAPED + r"\\[1-9Z]", pattern) or re.search(r"(?<!\\)[*+?}]\+", pattern):
        return "it repeats a group, or is possessive, which is not known here", "say it without; other columns can test further by sql"
    try:
        with warnings.catch_warnings(action="ignore"):
            compiled = re.compile(pattern)
    except re.error as error:
        return f"it is not a regular expression: {error.msg}", "correct it; a mark that is meant as such is written as in \\( or \\["
    if not compiled.groupindex or compiled.groups != len(compiled.groupindex):
        hint = "write (?P<name>…) for a field, and (?:…) for what is none"
        return "every group must be a field with a name" if compiled.groups else "it names no field", hint
    for name in compiled.groupindex:
        try:
            check_column(name)
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            return message, hint
        if name == "value":
            return "a group may not be called 'value', which is the whole line", "choose another name"
    return None
