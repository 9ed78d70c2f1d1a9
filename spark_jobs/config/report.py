"""Collects the problems that the checks of one pipeline find, each with the line of its key."""

from functools import cached_property
from pathlib import Path

from spark_jobs.config.document import Document, name_in_project, read_document
from spark_jobs.config.errors import Problem, did_you_mean


class Report:
    """The problems of one file. The file is read again for its lines only where there is a problem."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root, self.problems = path, root, []  # type: tuple[Path, Path, list[Problem]]

    @cached_property
    def document(self) -> Document:
        return read_document(self.path, name_in_project(self.path, self.root))

    def add(self, path: tuple[str | int, ...], value: object, message: str, hint: str) -> None:
        where = ".".join(str(part) for part in path)
        self.problems.append(Problem(self.document.file, self.document.line_of(path), where, value, message, hint))

    def add_in_file(self, file: Path, line: int, where: str, value: object, message: str, hint: str) -> None:
        """A problem inside a file that the pipeline names."""
        self.problems.append(Problem(name_in_project(file, self.root), line, where, value, message, hint))

    def require(self, path: tuple[str | int, ...], value: str, allowed: list[str], what: str) -> bool:
        """Whether the value is among those allowed; if not, a problem with the nearest one."""
        if value not in allowed:
            self.add(path, value, f"there is no {what} {value!r}", did_you_mean(value, allowed))
        return value in allowed
