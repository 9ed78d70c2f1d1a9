"""One word for one thing, and the field's word: what docs/glossary.md says is what messages, help and pages
say. Decisions and the changelog tell of the past, in the words of their day.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("spark_jobs", "service", "dags", "plugins")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
INSTEAD = {
    r"anew": "again, or rebuild",
    r"mend(s|ed)?": "fix, or correct",
    r"errands?": "request",
    r"outlook": "preview",
    r"whoever": "who, or the one who",
    r"all the same": "anyway",
    r"for want of": "because … is missing",
    r"(held|holds?) back": "blocked",
    r"(is|was|are|were|stays|left) held(?! (by|in|for|there|to|until)\b)": "blocked",
}
WORDS = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)


def words_in_messages(text: str) -> Iterator[tuple[int, str]]:
    """The lines of texts with a space that are no docstrings, and the word."""
    tree = ast.parse(text)
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from ((node.lineno, found[0]) for found in WORDS.finditer(node.value) if " " in node.value)


def words_in_help(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings of commands are their help."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any(map(_is_command, node.decorator_list)):
            yield from ((node.lineno, found[0]) for found in WORDS.finditer(ast.get_docstring(node) or ""))


def _is_command(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == "command"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_messages_use_the_words_of_the_glossary(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert [*words_in_messages(text), *words_in_help(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_use_the_words_of_the_glossary(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert [
        (number, found[0]) for number, line in enumerate(lines, 1) for found in WORDS.finditer(line)
    ] == []


def test_such_a_word_is_found() -> None:
    text = (
        '"""Made anew."""\nkey = "anew"\nsaid = f"{name} is held; mend it"\nlease = "it is held by 7"\n'
        '@app.command()\ndef take():\n    """Take it all the same."""\n'
    )

    assert list(words_in_messages(text)) == [(3, "is held"), (3, "mend")]
    assert list(words_in_help(text)) == [(6, "all the same")]
