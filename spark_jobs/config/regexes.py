"""Judges regular expressions before they are used, without the engines that read them: those of rules and of
log lines as RE2's, those in SQL as Java's, because Spark reads them. What Python, RE2 and Java have in common
is left to Python.
"""

import re
import warnings

from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import check_column
from spark_jobs.config.repeated_groups import goes_back_too_often, has_too_many_turns, has_too_many_ways

Judgement = tuple[str, str] | None
"""What is wrong, and what to do about it; None where nothing is."""
CORRECT_IT = "correct it; a mark that is meant as such is written as in \\( or \\["
SAY_IT_WITHOUT = (
    "say it without; a rule with expect_column_values_to_not_match_regex says what must not be there"
)
# What Python writes in its own way only.
PYTHON_ONLY = {
    "(?P<": "name a group as in (?<name>…)",
    "(?P=": "repeat a named group as in \\k<name>",
    "(?(": "Java has no conditions; write both cases with |",
    "(?#": "Java has no comments here; say it in the reason",
}
# What Java or RE2 write in their own way, and something that Python can read in the same place.
NOT_PYTHON = [
    (r"\\Q.*?(?:\\E|$)", "q"),
    (r"\\[pP](?:\{\^?[\w=]+\}|\w)", "\\w"),
    (r"\\x\{[0-9A-Fa-f]+\}", "x"),
    (r"\\k<\w+>", "k"),
    (r"\\[hHvRXeGzZC]", "\\s"),
    (r"\[:\^?\w+:\]", "a"),
    (r"\(\?P?<[A-Za-z]\w*>", "("),
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
# What RE2 does not know, or takes for something else than Java does, which is where most patterns are copied
# from.
JAVA_ONLY = [
    (r"\\(?:[1-9]|k<)", "it repeats a group, which may take for ever", SAY_IT_WITHOUT),
    (r"\\[hHRXeGuc]", "RE2 does not know this escape", "name the characters, as in [ \\t] or \\x{2028}"),
    (r"\\Z", "RE2 does not know \\Z", "write $ or \\z for the end of the value"),
    (
        r"\\[pP]\{(?:Lower|Upper|ASCII|Alpha|Digit|Alnum|Punct|Graph|Print|Blank|Cntrl|XDigit|Space|Is\w+|In\w+|java\w+|\w+=\w+)\}",
        "RE2 does not know this class",
        "write [[:alpha:]] and the like for ASCII, \\p{L}, \\p{Lu} or \\p{Greek} for all letters",
    ),
    (r"\[[^\]]*&&", "RE2 does not know the intersection of classes", "name the characters that are left"),
    (
        r"\[\^?\]?[^\]\\]*\[(?!:)",
        "a class within a class is Java's",
        "write one class, and \\[ for the bracket itself",
    ),
]
UNESCAPED = r"(?<!\\)((?:\\\\)*)"
# The classes that Java knows by name: POSIX's, Unicode's general categories, and those of scripts, blocks and
# Java itself.
JAVA_CLASSES = re.compile(
    "Lower|Upper|ASCII|Alpha|Digit|Alnum|Punct|Graph|Print|Blank|Cntrl|XDigit|Space|L1|all|LC|LD|"
    "C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?|(?:Is|In|java).+"
)
MOST_REPEATS = 1000
"""RE2 counts as far."""
MOST_COUNTED_IN_JAVA = 2**31 - 1
MOST_IN_JAVA = 256
"""How often Java may call itself: a thread's stack has room for about a thousand."""
CASELESS = r"\(\?[dmsuU]*i"
FREE_SPACING = r"\(\?[idmsuU]*x"
"""The flag by which blanks in a pattern mean nothing."""
CLASS = r"\[\^?\]?(?:\\.|\[(?:\\.|[^\]\\])*\]|[^\]\\])*\]"
QUANTIFIED = re.compile(
    rf"""(\\Q.*?(?:\\E|$) | \\[pPx]\{{[^}}]*\}} | \\k<\w+> | \\. | {CLASS} | .)
    (?:([*+?] | \{{\d+(?:,(\d*))?\}}) ([+?]?))?""",
    re.VERBOSE | re.DOTALL,
)
"""The parts of an expression, with how often each may come."""
NARROW = re.compile(r"[ -\-/-~]|\\[dws.\-]|\[(?!\^)(?:(?!\\[DWSpP])[ -~])*\]")
"""A character that has one width in Java."""
OF_SEVERAL_WIDTHS = (")", r"\R", r"\X")
"""The end of a group, and what Java matches as one: a line end, a character with its marks."""


def judge_regex(pattern: str) -> Judgement:
    """What is wrong with the expression of a rule, which RE2 reads."""
    for mark, why in NOT_IN_RE2.items():
        if re.search(UNESCAPED + re.escape(mark), pattern):
            return f"{mark!r} cannot be used: {why}, which may take for ever", SAY_IT_WITHOUT
    for java, message, hint in JAVA_ONLY:
        if re.search(UNESCAPED + java, pattern):
            return message, hint
    if _is_possessive(pattern):
        return (
            "it is possessive, which RE2 does not know",
            "write it without the second +: RE2 never goes back",
        )
    if _counts_further(pattern, MOST_REPEATS):
        return (
            f"it counts further than {MOST_REPEATS}",
            "use expect_column_value_lengths_to_be_between for the length",
        )
    return _judge_syntax(pattern)


def judge_java_regex(pattern: str) -> Judgement:
    """What is wrong with an expression in SQL, which Java reads."""
    for mark, hint in PYTHON_ONLY.items():
        if re.search(UNESCAPED + re.escape(mark), pattern):
            return f"{mark!r} is not known to Spark's regular expressions, which are Java's", hint
    for _, name in re.findall(UNESCAPED + r"\\[pP]\{\^?(\w+)\}", pattern):
        if not JAVA_CLASSES.fullmatch(name):
            return f"Java has no class \\p{{{name}}}", "write it as in \\p{Alpha}, \\p{Lu} or \\p{IsGreek}"
    names = re.findall(UNESCAPED + r"\(\?<([A-Za-z]\w*)>", pattern)
    if repeated := [name for at, (_, name) in enumerate(names) if name in [other for _, other in names[:at]]]:
        return f"the group {repeated[0]!r} is there twice", "give each group a name of its own"
    if _counts_further(pattern, MOST_COUNTED_IN_JAVA):
        return (
            f"it counts further than {MOST_COUNTED_IN_JAVA}, which no engine does",
            "use length(…) for the length",
        )
    if re.search(UNESCAPED + FREE_SPACING, pattern) or r"\Q\E" in pattern:
        return "(?x) and an empty \\Q\\E hide what is repeated", "write the pattern without them"
    if any(_calls_itself(*found.groups()) for found in QUANTIFIED.finditer(pattern)) or has_too_many_turns(
        _readable(pattern)
    ):
        hint = (
            "write [ab]* instead of (a|b)*, or let the group keep what it has taken, as in (?:…)*+; for a"
            " length use length(…)"
        )
        return (
            (
                "it repeats a group, or counts too far: on a long value that ends Java's engine, and the run"
                " with it"
            ),
            hint,
        )
    return _judge_ways(pattern) or _judge_syntax(pattern)


def _judge_ways(pattern: str) -> Judgement:
    """Whether Java's engine has too many ways to go."""
    readable = _readable(pattern)
    readable = _without_case(readable) if re.search(UNESCAPED + CASELESS, pattern) else readable
    if has_too_many_ways(readable):
        hint = (
            "let each turn of the group end with what cannot begin it, or let the group keep what it has"
            " taken, as in (?:…){0,9}+"
        )
        return "it repeats a group whose turns can go in many ways: a short value may take for ever", hint
    if goes_back_too_often(readable):
        hint = (
            "let each end with what it cannot take, as in [^,]*, instead of .*?, or keep what it has taken,"
            " as in [a-z]*+"
        )
        return "it has too many repetitions that give back: a short value may take for ever", hint
    return None


def _without_case(pattern: str) -> str:
    """Its letters as small ones, but for those of escapes, where they mean something else."""
    return re.sub(
        r"\\.|[A-Z]",
        lambda found: found[0] if found[0][0] == "\\" else found[0].lower(),
        pattern,
        flags=re.DOTALL,
    )


def count_groups(pattern: str) -> int | None:
    """The groups of a pattern of Java's; None where Python cannot tell, as of one that looks back over
    several lengths.
    """
    try:
        return _compiled(_readable(pattern)).groups
    except re.error:
        return None


def _is_possessive(pattern: str) -> bool:
    return any(found[4] == "+" for found in QUANTIFIED.finditer(pattern))


def _counts_further(pattern: str, most: int) -> bool:
    """Whether a repetition asks for more than `most`. Digits are counted first: Python refuses to read
    thousands of them as a number.
    """
    counts = re.findall(UNESCAPED + r"[{,](\d+)(?=,?\d*\})", pattern)
    return any(
        len(digits.lstrip("0")) > len(str(most)) or int(digits.lstrip("0") or 0) > most
        for _, digits in counts
    )


def _calls_itself(part: str, often: str | None, most: str | None, mode: str | None) -> bool:
    """Whether Java calls itself for every turn of a repetition. It does for groups, and where characters of
    two widths are counted; not where the repetition gives nothing back.
    """
    if mode == "+":
        return False
    # exactly so often, as in {300}
    if part in OF_SEVERAL_WIDTHS and most is None and str(often).startswith("{"):
        return int(str(often)[1:-1]) > MOST_IN_JAVA
    is_endless = often in ("*", "+") or most == ""
    is_counted = bool(most) and int(str(most)) > MOST_IN_JAVA
    if part in OF_SEVERAL_WIDTHS:
        return is_endless or is_counted
    return is_counted and not NARROW.fullmatch(part)


def _judge_syntax(pattern: str) -> Judgement:
    try:
        _compiled(_readable(pattern))
    except re.error as error:
        return _explain(error)
    return None


def _compiled(pattern: str) -> re.Pattern[str]:
    """The expression as Python reads it. What Python cannot even begin to read is an error in it like any
    other.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return re.compile(pattern)
    except OverflowError as error:
        raise re.error("it counts too far") from error
    except RecursionError as error:
        raise re.error("its groups stand too deep in each other") from error


def _readable(pattern: str) -> str:
    for other, python in NOT_PYTHON:
        pattern = re.sub(UNESCAPED + other, lambda match, python=python: match[1] + python, pattern)  # type: ignore[misc]
    return pattern


def _explain(error: re.error) -> Judgement:
    if "look-behind" in error.msg:  # Java takes one of several lengths
        return None
    return f"it is not a regular expression: {error.msg}", CORRECT_IT


def group_names(pattern: str) -> list[str]:
    """The names of the groups, in their order."""
    return list(re.compile(pattern).groupindex)


def judge_line_regex(pattern: str) -> tuple[str, str] | None:
    """What is wrong with the expression for the fields of a line: message and hint; None where it can be
    used.
    """
    for mark, why in NOT_IN_RE2.items():
        if re.search(UNESCAPED + re.escape(mark), pattern):
            return (
                f"{mark!r} cannot be used here: {why}, which may take for ever",
                "say it without; other columns can test further by sql",
            )
    if re.search(UNESCAPED + r"\\[1-9Z]", pattern) or _is_possessive(pattern):
        return (
            "it repeats a group, or is possessive, which is not known here",
            "say it without; other columns can test further by sql",
        )
    if _counts_further(pattern, MOST_REPEATS):
        return (
            f"it counts further than {MOST_REPEATS}",
            "write + or * instead; a rule can test the length of a column",
        )
    try:
        compiled = _compiled(pattern)
    except re.error as error:
        is_javas = re.search(UNESCAPED + r"\(\?<[A-Za-z]", pattern)
        hint = "write (?P<name>…) for a field" if is_javas else CORRECT_IT
        return f"it is not a regular expression: {error.msg}", hint
    if not compiled.groupindex or compiled.groups != len(compiled.groupindex):
        hint = "write (?P<name>…) for a field, and (?:…) for what is none"
        return "every group must be a field with a name" if compiled.groups else "it names no field", hint
    for name in compiled.groupindex:
        try:
            check_column(name)
        except Hinted as wrong:
            return wrong.message, wrong.hint
        if name == "value":
            return "a group may not be called 'value', which is the whole line", "choose another name"
    return None
