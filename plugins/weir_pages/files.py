"""The reports folder of the project: which pipelines have reports, their runs, and the reports. Nothing but
these is ever opened.

A name enters only after it was checked: a pipeline's by its form, a run's because runs.json has it. Links are
not followed out of it.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from spark_jobs.config import ConfigError
from spark_jobs.config.loading import load_lakehouse, reports_folder
from spark_jobs.config.names import NAME
from weir_pages.runs import Run, Runs

RUNS_FILE = "runs.json"
MOST_BYTES = 20_000_000


class Unreadable(Exception):
    """Something that should be there and cannot be shown. `command` is what to type next,
    where that helps.
    """

    def __init__(self, text: str, command: str = "") -> None:
        self.text, self.command = text, command
        super().__init__(f"{text} {command}".strip())


@dataclass(frozen=True)
class Reports:
    """The folder with all reports, and the project that it belongs to."""

    root: Path
    folder: Path

    def pipelines(self) -> list[str]:
        """Every pipeline that has a file or reports, by name."""
        described = {path.stem for path in (self.root / "conf" / "pipelines").glob("*.yml")}
        reported = (
            {path.name for path in self.folder.iterdir() if path.is_dir()} if self.folder.is_dir() else set()
        )
        return sorted(name for name in described | reported if NAME.fullmatch(name))

    def is_pipeline(self, name: str) -> bool:
        return name in self.pipelines()

    def runs(self, pipeline: str) -> Runs | None:
        """Its runs that have a page; None where it has no report at all. Unreadable where the file is broken
        or gone.
        """
        text = self._read(pipeline, RUNS_FILE)
        if text is None:
            if any((self.folder / pipeline).glob("*.html")):
                raise Unreadable(
                    "There are reports, but no list of them. To write it:", f"weir report {pipeline}"
                )
            return None
        try:
            runs = Runs.model_validate_json(text)
        except ValidationError as error:
            raise Unreadable(
                "The list of its runs cannot be read. To write it again:", f"weir report {pipeline}"
            ) from error
        return runs.model_copy(
            update={"runs": tuple(run for run in runs.runs if self._path(pipeline, run.page).is_file())}
        )

    def report(self, pipeline: str, run: Run) -> str | None:
        """The page of a run that is in the list."""
        return self._read(pipeline, run.page)

    def _path(self, pipeline: str, file: str) -> Path:
        if not NAME.fullmatch(pipeline):
            raise Unreadable("This is not the name of a pipeline.")
        return self.folder / pipeline / file

    def _read(self, pipeline: str, file: str) -> str | None:
        """A plain file in the pipeline's own folder, None where there is none."""
        path = self._path(pipeline, file)
        if path.parent.is_symlink():
            raise Unreadable("Its folder of reports is a link, and links are not followed.")
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unreadable(f"{file} cannot be opened.") from error
        with os.fdopen(handle, "rb") as opened:
            known = os.fstat(opened.fileno())
            if not stat.S_ISREG(known.st_mode) or known.st_size > MOST_BYTES:
                raise Unreadable(f"{file} is not a report.")
            return opened.read(MOST_BYTES).decode("utf-8", errors="replace")


def open_reports() -> Reports:
    """As conf/lakehouse.yml and WEIR_REPORTS say now."""
    root = Path(os.environ.get("WEIR_HOME") or Path(__file__).resolve().parents[2])
    try:
        return Reports(root, reports_folder(root, load_lakehouse(root)))
    except ConfigError as error:
        raise Unreadable(
            "conf/lakehouse.yml cannot be used, so it is not known where reports are. To see why:",
            "weir check",
        ) from error
