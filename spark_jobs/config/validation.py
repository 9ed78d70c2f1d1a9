"""Turns a document into a model, and what pydantic refuses into Problems with line, value, what is allowed
and the nearest word.
"""

import re
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from spark_jobs.config.document import Document, KeyPath, name_in_project, read_document
from spark_jobs.config.errors import ConfigError, Hinted, Problem, Withheld, did_you_mean
from spark_jobs.config.names import shorten
from spark_jobs.config.sinks import KINDS

M = TypeVar("M", bound=BaseModel)

EXPECTED = {
    "string_type": ("is not text", "put it in quotes"),
    "int_type": ("is not a whole number", "write digits without quotes"),
    "bool_type": ("is not a yes or no", "write true or false"),
    "model_type": ("is not a mapping", "write 'key: value' lines, or {key: value}"),
    "model_attributes_type": ("is not a mapping", "write 'key: value' lines, or {key: value}"),
    "dict_type": ("is not a mapping", "write 'key: value' lines, or {key: value}"),
    "list_type": ("is not a list", "write [a, b]"),
}


def validate(model: type[M], document: Document, below: KeyPath = ()) -> M:
    """The model of a document, or of the part of it `below` a key; ConfigError with every problem in it."""
    data: Any = document.data
    for key in below:
        data = data.get(key, {})
    try:
        return model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ConfigError(
            _problem(model, document, below, details) for details in error.errors(include_url=False)
        ) from error


def _problem(model: type[BaseModel], document: Document, below: KeyPath, details: ErrorDetails) -> Problem:
    found = tuple(part for part in details["loc"] if part != "[key]")
    message, hint = _explain(model, found, details)
    whole = (*below, *(part for part in found if not _is_tag(part)))
    value = None if isinstance(details.get("ctx", {}).get("error"), Withheld) else details.get("input")
    return Problem(document.file, document.line_of(whole), ".".join(map(str, whole)), value, message, hint)


def _explain(model: type[BaseModel], path: tuple[str | int, ...], details: ErrorDetails) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    kind, value, context = details["type"], shorten(details.get("input")), details.get("ctx", {})
    if kind == "extra_forbidden":
        return f"the key {str(path[-1])!r} is unknown", did_you_mean(
            str(path[-1]), _keys(_model_at(model, path[:-1]))
        )
    if kind == "missing":
        return f"the key {str(path[-1])!r} is missing", f"add it: {_description(model, path)}".rstrip(": ")
    if kind == "union_tag_not_found":
        to = details["input"].get("to") if isinstance(details["input"], dict) else None
        if to is None:
            return "the key 'to' is missing", f"add it: one of {', '.join(KINDS)}"
        return f"{shorten(to)} is not a sink", did_you_mean(str(to), KINDS)
    if kind == "literal_error":
        return f"{value} is not allowed here", did_you_mean(
            str(details["input"]), re.findall(r"'([^']*)'", context["expected"])
        )
    if kind == "value_error":
        wrong = context["error"]
        return (wrong.message, wrong.hint) if isinstance(wrong, Hinted) else (str(wrong), "")
    if kind in EXPECTED:
        return f"{value} {EXPECTED[kind][0]}", EXPECTED[kind][1]
    if kind == "string_pattern_mismatch":
        return (
            f"{value} does not have the right form",
            f"write {_description(model, path) or context['pattern']}",
        )
    if kind == "too_short":
        return "nothing stands here", "give at least one"
    text = details["msg"]
    return f"{value} is not allowed here", text[0].lower() + text[1:]


def _description(model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    field = _fields(_model_at(model, path[:-1])).get(str(path[-1]))
    return field.description or "" if field else ""


def _keys(model: type[BaseModel] | None) -> list[str]:
    return list(_fields(model))


def _fields(model: type[BaseModel] | None) -> dict[str, Any]:
    """The fields of a model by the name that they have in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()} if model else {}


def _model_at(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model that describes the mapping at a path of the file; among several kinds the one whose tag is in
    the path.
    """
    annotation: Any = model
    for part in path:
        found = _bare(annotation)
        if _is_tag(part):
            annotation = _tagged(annotation, str(part))
        elif isinstance(found, type) and issubclass(found, BaseModel):
            field = _fields(found).get(str(part))
            annotation = field.annotation if field else None
        else:
            annotation = get_args(found)[-1] if get_origin(found) in (dict, list) else None
    last = _bare(annotation)
    return last if isinstance(last, type) and issubclass(last, BaseModel) else None


def _is_tag(part: str | int) -> bool:
    """What pydantic adds to a path to say which kind of a value it took: such tags stand in parentheses."""
    return isinstance(part, str) and part.startswith("(") and part.endswith(")")


def _tagged(annotation: Any, tag: str) -> Any:
    """Of a union of kinds that one which bears the tag."""
    if Tag(tag) in getattr(annotation, "__metadata__", ()):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _tagged(inner, tag)) is not None), None)


def _bare(annotation: Any) -> Any:
    """The annotation without Annotated and without `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        found = [_bare(arg) for arg in get_args(annotation) if arg is not type(None)]
        return next((arg for arg in found if isinstance(arg, type) and issubclass(arg, BaseModel)), found[0])
    return annotation


class Report:
    """The problems of one file. The file is read again for its lines only where there is a problem."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root, self.problems = path, root, []  # type: tuple[Path, Path, list[Problem]]

    @cached_property
    def document(self) -> Document:
        return read_document(self.path, name_in_project(self.path, self.root))

    def add(self, path: tuple[str | int, ...], value: object, message: str, hint: str) -> None:
        where = ".".join(str(part) for part in path)
        self.problems.append(
            Problem(self.document.file, self.document.line_of(path), where, value, message, hint)
        )

    def add_in_file(self, file: Path, line: int, where: str, value: object, message: str, hint: str) -> None:
        """A problem inside a file that the pipeline names."""
        self.problems.append(Problem(name_in_project(file, self.root), line, where, value, message, hint))

    def require(self, path: tuple[str | int, ...], value: str, allowed: list[str], what: str) -> bool:
        """Whether the value is among those allowed; if not, a problem with the nearest one."""
        if value not in allowed:
            self.add(path, value, f"there is no {what} {value!r}", did_you_mean(value, allowed))
        return value in allowed
