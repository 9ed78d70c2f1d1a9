"""The files of a pipeline's tables, and the landed ones that were not taken."""

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial

from spark_jobs.config.graph import table_names
from spark_jobs.config.loading import Project
from spark_jobs.config.names import READABLE, SIDES
from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import count, plain
from spark_jobs.doctor.finding import BAD, WARNING, Finding, Fix, ok
from spark_jobs.failure import first_line
from spark_jobs.lake.delta_log import lost_files, table_version
from spark_jobs.lake.lease import refuse_writes
from spark_jobs.lake.storage import is_remote, names_in
from spark_jobs.lake.upkeep import measure_files
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.skipped import UNREADABLE, files_set_aside
from spark_jobs.run.maintain import maintain_pipeline
from spark_jobs.run.plan import Plan

MANY_SMALL = 50
"""In one table; a run puts those of its own writes together, upkeep the others."""
NAMED = 3
REFUSED = "refused"
NOTHING_TO_DO = 3


def look_at_files(project: Project, plan: Plan) -> Iterator[Finding]:
    """Each table's log, that its files are there and may be written beside, and how many are small."""
    name, seen, is_well = plan.pipeline.name, 0, True
    small: dict[str, int] = {}
    for table, path in _tables(plan):
        try:
            if table_version(path) is None:
                continue
            seen += 1
            lost = lost_files(path)
            small[table] = measure_files(path).small
        except Exception as error:  # noqa: BLE001 - the log of one table: the others are still looked at
            is_well = False
            yield Finding(
                name,
                "logs",
                BAD,
                f"the log of {table} cannot be read: {first_line(error)}",
                _rebuilt(name, table),
            )
            continue
        if lost:
            is_well = False
            said = f"{count(len(lost), 'file is', 'files are')} gone or cut, as {lost[0]}"
            yield Finding(name, "files", BAD, f"{table}: {said}", _rebuilt(name, table))
        if not is_remote(path) and not _may_write(path):
            is_well = False
            message = f"this user may not write to {path}"
            yield Finding(
                name, "rights", BAD, message, f"give it the rights of the folder's owner: `ls -ld {path}`"
            )
    if is_well:
        yield ok(name, "files", f"{count(seen, 'table')}, every file of their newest versions is there")
    if most := {table: number for table, number in small.items() if number >= MANY_SMALL}:
        fix = Fix(f"did the upkeep of {name}", partial(do_upkeep, project, name))
        table = max(most, key=lambda table: most[table])
        message = (
            f"{count(len(most), 'table has', 'tables have')} many small files, {table} {most[table]:,}: each"
            " makes queries and runs a little slower"
        )
        yield Finding(name, "small files", WARNING, message, f"`weir maintain {name}`, once a day", fix)


def _tables(plan: Plan) -> Iterator[tuple[str, str]]:
    """With those beside them, the arrivals and the ledger."""
    for table in table_names(plan.pipeline):
        for name in (table, *(f"{side}.{table}" for side in SIDES)):
            yield name, plan.lake.table(name)
    for source in plan.pipeline.sources:
        yield f"the arrivals of {source}", plan.lake.arrivals(source)
    for name in names_in(plan.lake.ledgers):
        yield f"the ledger's {name}", plan.lake.ledger(name)


def _rebuilt(name: str, table: str) -> str:
    """Bronze is what tables are rebuilt from, and a ledger is made from nothing."""
    if table.startswith(READABLE):
        return f"`weir rebuild {name} {table}` makes it again from bronze"
    return "restore the pipeline's folder from a backup (docs/backup.md), or load into a new lake"


def _may_write(path: str) -> bool:
    return all(os.access(folder, os.R_OK | os.W_OK | os.X_OK) for folder in (path, f"{path}/_delta_log"))


def do_upkeep(project: Project, name: str) -> str | None:
    """Why it could not be done, as where somebody writes."""
    done = maintain_pipeline(project, name)
    return None if done.exit_code in (0, NOTHING_TO_DO) else done.message


def look_at_landed(project: Project, plan: Plan) -> Iterator[Finding]:
    """Files that were refused or cannot be read, as one that was rewritten after it was taken."""
    name, is_well = plan.pipeline.name, True
    for source, definition in plan.pipeline.sources.items():
        if not isinstance(definition, FileSource):
            continue
        found = files_set_aside(make_feed(plan.lake, project.landing, source, definition, refuse_writes))
        files = [file for file in found if file.verdict in (REFUSED, UNREADABLE)]
        if files:
            is_well = False
            kinds = Counter(file.verdict for file in files)
            said = " and ".join(f"{count(number, 'file')} {kind}" for kind, number in kinds.items())
            # what to do stands below; and why a file cannot be read may quote it
            reason = f": {files[0].reason.partition('; ')[0]}" if files[0].verdict == REFUSED else ""
            message = plain(f"{said} of {source}, as {files[0].path!r}{reason}")
            remedy = f"`{files[0].command}` loads it; `weir quarantine list {name} bronze.{source}` names all"
            yield Finding(name, "landed files", WARNING, message, remedy)
    if is_well:
        yield ok(name, "landed files", "none was refused, all could be read")


def look_at_strangers(plan: Plan) -> Iterator[Finding]:
    """Tables in the pipeline's folder that its file does not declare."""
    name, known = plan.pipeline.name, table_names(plan.pipeline)
    strange = [
        f"{layer}.{table}"
        for layer in ("bronze", *READABLE)
        for table in names_in(f"{plan.lake.root}/{name}/{layer}")
        if f"{layer}.{table}" not in known and not table.startswith(".")
    ]
    if strange:
        named = ", ".join(strange[:NAMED]) + (
            f" and {len(strange) - NAMED} more" if len(strange) > NAMED else ""
        )
        message = (
            f"the pipeline file does not declare {named}, whose folder is there: no run writes it any more"
        )
        remedy = f"declare it again, or, if nobody reads it, remove its folder below {plan.lake.root}/{name}"
        yield Finding(name, "orphans", WARNING, message, remedy)
