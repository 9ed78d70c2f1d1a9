"""`weir propose`: columns for a source by what has landed of it, written into the pipeline file once."""

import os
import tempfile
from pathlib import Path
from typing import Any

from spark_jobs.cli.ending import end
from spark_jobs.cli.loading import load_checked
from spark_jobs.config.checks.project import check_pipeline
from spark_jobs.config.document import name_in_project, read_document
from spark_jobs.config.errors import ConfigError, Hinted, Problem, Refused, UsageError, did_you_mean
from spark_jobs.config.files import read_text
from spark_jobs.config.loading import Project
from spark_jobs.config.names import check_name
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.text import count
from spark_jobs.config.validation import validate
from spark_jobs.operations.propose import NotInsertable, Proposal, insert_table, propose_columns, spell_table


def propose_command(name: str, source: str, table: str | None, dry_run: bool, as_json: bool) -> int:
    text, proposal, code, status = "", Proposal({}, 0, 0), 0, "ok"
    try:
        project = load_checked(name)
        file, wanted = project.file_of(name), table or source
        _check(project, name, source, table)
        proposal = propose_columns(project, name, source)
        if proposal.columns:
            text = spell_table(wanted, source, proposal.columns)
            _write(project, file, wanted, text, dry_run=dry_run)
            done = "would be written" if dry_run else "is written"
            where = f"{name_in_project(file, project.root)}, from {count(proposal.records, 'record')}"
            passed_over = (
                f", {count(proposal.unreadable, 'other', 'others')} cannot be read (the first:"
                f" {proposal.problem})"
                if proposal.unreadable
                else ""
            )
            message = f"silver.{wanted} {done} to {where}{passed_over}; look at it, then `weir run {name}`"
        else:
            place = project.pipelines[name].sources[source].place(project.landing)
            code, status = 3, "nothing_to_do"
            message = f"nothing to propose: {_say_nothing(proposal, place)}"
    except Refused as error:
        code, status, message = 2, error.status, error.said
    shown = f"error: {message}" if code == 2 else f"{text}{message}" if dry_run else message
    columns = {column: {"type": kind, "from": path} for column, (kind, path) in proposal.columns.items()}
    result: dict[str, Any] = {"pipeline": name, "source": source, "status": status, "exit_code": code}
    result |= {"message": message, "columns": columns, "records": proposal.records, "files": proposal.files}
    result |= {"unreadable": proposal.unreadable, "text": text}
    return end(code, shown, result, as_json=as_json)


def _say_nothing(proposal: Proposal, place: str) -> str:
    if not proposal.unreadable:
        return f"no record was found in {place}; land a file, or run the pipeline once for what is no file"
    if proposal.unreadable == 1:
        return f"all that was found in {place} cannot be read: {proposal.problem}"
    found = count(proposal.unreadable, "record or file", "records or files")
    return f"none of the {found} that were found in {place} can be read; the first: {proposal.problem}"


def _check(project: Project, name: str, source: str, table: str | None) -> None:
    """UsageError unless the source is there, and the table's name, which is the source's where none is given,
    is free and legal.
    """
    pipeline, wanted = project.pipelines[name], table or source
    if source not in pipeline.sources:
        raise UsageError(
            "SOURCE", source, f"{name} has no source {source!r}", did_you_mean(source, pipeline.sources)
        )
    if wanted in pipeline.silver:
        where = "--table" if table else "SOURCE"
        raise UsageError(
            where, wanted, f"silver has a table {wanted!r} already", "choose another name by --table"
        )
    try:
        check_name(wanted)
    except Hinted as wrong:
        raise UsageError("--table", wanted, wrong.message, wrong.hint) from wrong


def _write(project: Project, file: Path, table: str, text: str, *, dry_run: bool) -> None:
    """In one step, and only if the file then says what it said before and the new table, and passes the
    check.
    """
    shown, before = name_in_project(file, project.root), read_text(file)
    try:
        after = insert_table(before, table, text)
    except NotInsertable as wrong:
        raise ConfigError([_problem(shown, table, wrong.message, wrong.hint)]) from wrong
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".propose-") as scratch:
        new = Path(scratch, file.name)
        new.write_text(after, encoding="utf-8")
        document, old = read_document(new, shown), read_document(file, shown).data
        kept = {
            **document.data,
            "silver": {name: known for name, known in document.data["silver"].items() if name != table},
        }
        if kept != {**old, "silver": old.get("silver") or {}}:
            raise ConfigError(
                [
                    _problem(
                        shown,
                        table,
                        "it has no place there that leaves the rest as it is",
                        "copy what --dry-run shows",
                    )
                ]
            )
        pipeline = validate(Pipeline, document)
        others = project.pipelines[pipeline.name].upstream
        if problems := check_pipeline(pipeline, project.conf, project.rules[pipeline.name], others):
            raise ConfigError(problems)
        if not dry_run:
            os.chmod(new, file.stat().st_mode)
            os.replace(new, file)


def _problem(file: str, table: str, message: str, hint: str) -> Problem:
    return Problem(file, 1, f"silver.{table}", table, message, hint)
