"""All checks that need more than one key of a file: the whole project, every problem at
once, without Spark.
"""

import os
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from spark_jobs.config.checks.gold import check_gold
from spark_jobs.config.checks.rules import check_expectations
from spark_jobs.config.checks.sinks import check_places, check_sinks
from spark_jobs.config.checks.sources import check_relays, check_sources
from spark_jobs.config.checks.sql import Columns, check_sql_table
from spark_jobs.config.checks.tables import check_dimension, check_silver
from spark_jobs.config.checks.upstream import check_between, is_unloaded, tables_of_others
from spark_jobs.config.columns import aggregate_columns, dimension_columns, row_keys, silver_columns
from spark_jobs.config.errors import Problem, did_you_mean, set_aside_repeats
from spark_jobs.config.gold import Gold
from spark_jobs.config.graph import gold_inputs
from spark_jobs.config.loading import LAKEHOUSE, Project, pipeline_file, survey_project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.row_keys import Keys
from spark_jobs.config.rule_files import PipelineRules
from spark_jobs.config.sinks import FileSink
from spark_jobs.config.spark_settings import KEYS_OF_S3
from spark_jobs.config.validation import Report

# Checks of conf/lakehouse.yml: the roots of the lake and of the landing zone, where they are, and the
# profile.

STORES = ("s3a", "gs", "abfss")
"""Object stores that are reached without a JVM as well, and can write on a condition, as the lease must."""
INSTEAD = {"s3": "write s3a://, which is what Spark calls it", "file": "write the path alone"}


def check_roots(project: Project, environ: Mapping[str, str] = os.environ) -> list[Problem]:
    report = Report(project.root / LAKEHOUSE, project.root)
    if not (project.conf / "profiles" / f"{project.lakehouse.profile}.yml").is_file():
        hint = did_you_mean(project.lakehouse.profile, project.profiles)
        report.add(
            ("profile",),
            project.lakehouse.profile,
            f"there is no profile {project.lakehouse.profile!r} in conf/profiles",
            hint,
        )
    landing, lake = f"{project.landing}/", f"{project.lake}/"
    if landing.startswith(lake) or lake.startswith(landing):
        message = f"the lake ({project.lake}) and the landing zone ({project.landing}) contain one another"
        report.add(
            ("lake",),
            project.lake,
            message,
            "give each a folder of its own (also in WEIR_LAKE and WEIR_LANDING)",
        )
    for key, root in (("lake", project.lake), ("landing", project.landing)):
        _check_store(key, root, environ, report)
    return report.problems


def _check_store(key: str, root: str, environ: Mapping[str, str], report: Report) -> None:
    scheme, separator, rest = root.partition("://")
    if not separator:
        return
    if scheme not in STORES:
        hint = INSTEAD.get(
            scheme,
            "write a path of this machine, or s3a://bucket/folder; gs:// and abfss:// need their connector's"
            " jars",
        )
        report.add((key,), root, f"Weir cannot keep its leases and ledger on {scheme}://", hint)
    elif "@" in rest and scheme != "abfss":
        message = "an address is no place for a key or a password"
        report.add((key,), f"{scheme}://...@{rest.rpartition('@')[2]}", message, KEYS_OF_S3)
    elif not rest.partition("/")[0] or set("?#") & set(rest):
        report.add(
            (key,),
            root,
            "this names no bucket, or more than a bucket and a folder",
            "write it as s3a://bucket/folder",
        )
    elif (
        scheme == "s3a"
        and environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        and environ.get("AWS_ALLOW_HTTP") != "true"
    ):
        message = "the store of AWS_ENDPOINT_URL is asked without encryption, and nobody has allowed that"
        report.add(
            (key,),
            root,
            message,
            "give its https:// address, or set AWS_ALLOW_HTTP=true where the network is your own",
        )


# Whether a profile fits the lake: a driver inside a cluster finds no folder of this machine, and no lock of
# its operating system.

SHARED = (
    "or, where the folder is at the same path on every host and its file system keeps locks between hosts:"
    " shared_folders: true"
)


def check_profile(project: Project, name: str) -> list[Problem]:
    """The problems of the profile that runs are to use; those of others concern nobody."""
    profile = project.profiles.get(name)
    if profile is None or profile.deploy == "client" or profile.shared_folders:
        return []
    report = Report(project.conf / "profiles" / f"{name}.yml", project.root)
    for what, place in (("lake", project.lake), ("landing zone", project.landing)):
        if "://" not in place:
            message = f"a driver in the cluster cannot reach the {what} {place}, a folder of this machine"
            report.add(("deploy",), profile.deploy, message, f"put it on S3, write deploy: client, {SHARED}")
    for pipeline in project.pipelines.values():
        for sink, declared in pipeline.sinks.items():
            if isinstance(declared, FileSink):
                message = (
                    f"the sink {sink!r} of {pipeline.name} writes files, and a driver in the cluster cannot"
                    f" reach {project.exports}"
                )
                report.add(("deploy",), profile.deploy, message, f"write deploy: client, {SHARED}")
    return report.problems


def check_project(project: Project) -> list[Problem]:
    """Every problem of a loaded project, by file and line."""
    problems = check_roots(project) + check_profile(project, project.lakehouse.profile)
    for pipeline in project.pipelines.values():
        problems += check_pipeline(pipeline, project.conf, project.rules[pipeline.name], project.pipelines)
    between = [
        *check_between(project.pipelines, project.conf),
        *check_places(project.pipelines, project.conf),
    ]
    problems += [problem for report in between for problem in report.problems]
    return sorted(set_aside_repeats(problems), key=lambda problem: (problem.file, problem.line))


def check_folder(root: Path | None = None, environ: Mapping[str, str] = os.environ) -> list[Problem]:
    """Every problem of a project folder: of the files that cannot be loaded, and of what the others say."""
    return check_survey(*survey_project(root, environ))


def check_survey(project: Project | None, problems: list[Problem]) -> list[Problem]:
    """The same of a folder that has been loaded as far as it can be."""
    found = problems + (check_project(project) if project else [])
    return sorted(set_aside_repeats(found), key=lambda problem: (problem.file, problem.line))


def check_pipeline(
    pipeline: Pipeline, conf: Path, rules: PipelineRules, pipelines: Mapping[str, Pipeline] | None = None
) -> list[Problem]:
    """Every problem of one loaded pipeline and of what is expected of its tables, as far as can be told
    without Great Expectations.

    `pipelines` are those whose tables may be read; without them the ones that were loaded for it.
    """
    others = tables_of_others(pipeline, (pipeline.upstream if pipelines is None else pipelines).values())
    report = Report(pipeline_file(conf.parent, pipeline.name), conf.parent)
    check_sources(pipeline, report)
    check_relays(pipeline, report)
    for name, dimension in pipeline.dimensions.items():
        check_dimension(pipeline, name, dimension, report)
    for name, silver in pipeline.silver.items():
        check_silver(pipeline, name, silver, report)
    for name, gold in pipeline.gold.items():
        check_gold(pipeline, name, gold, list(others), conf, report)
    check_sinks(pipeline, conf, report)
    keys = row_keys(pipeline)
    for name, other in (pipeline.upstream if pipelines is None else pipelines).items():
        keys |= {f"{name}.{table}": key for table, key in row_keys(other).items()}
    tables = _check_sql_tables(pipeline, others, keys, conf, report)
    return report.problems + check_expectations(pipeline, rules, tables, keys, conf)


def _check_sql_tables(
    pipeline: Pipeline, others: Mapping[str, Columns | None], keys: Keys, conf: Path, report: Report
) -> dict[str, Columns | None]:
    """The SQL of gold tables, inputs first, so that the columns of one are known to the next: the columns of
    every table, where known, also of those of other pipelines that one of them reads.
    """
    tables: dict[str, Columns | None] = {f"bronze.{name}": None for name in pipeline.sources}
    tables |= {f"dimension.{name}": dimension_columns(pipeline, name) for name in pipeline.dimensions}
    tables |= {f"silver.{name}": silver_columns(pipeline, name) for name in pipeline.silver}
    tables |= {
        f"gold.{name}": aggregate_columns(pipeline, gold) if gold.from_ or gold.join else None
        for name, gold in pipeline.gold.items()
    }
    for name in _gold_in_order(pipeline, conf, report):
        if pipeline.gold[name].sql is not None:
            read = _readable_inputs(pipeline.gold[name], conf)
            readable = {
                **tables,
                **others,
                **{table: None for table in read if is_unloaded(table, pipeline, conf)},
            }
            tables[f"gold.{name}"] = check_sql_table(name, pipeline.gold[name], readable, keys, conf, report)
    read_of_others = {
        table for gold in pipeline.gold.values() for table in _readable_inputs(gold, conf)
    } & others.keys()
    return tables | {table: others[table] for table in sorted(read_of_others)}


def _gold_in_order(pipeline: Pipeline, conf: Path, report: Report) -> list[str]:
    reads = {f"gold.{name}": _readable_inputs(gold, conf) for name, gold in pipeline.gold.items()}
    graph = {
        table: [other for other in others if other in reads and other != table]
        for table, others in reads.items()
    }
    try:
        return [table.removeprefix("gold.") for table in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        first, ring = error.args[1][0], " -> ".join(error.args[1])
        report.add(
            tuple(first.split(".")),
            ring,
            f"the tables form a ring: {ring}",
            "let one of them read another table",
        )
        return list(pipeline.gold)


def _readable_inputs(gold: Gold, conf: Path) -> list[str]:
    """The inputs of a gold table; none where its SQL file cannot be read, which is a problem of its own."""
    try:
        return gold_inputs(gold, conf)
    except (OSError, UnicodeDecodeError):
        return []
