"""The rules of a pipeline before a run: Great Expectations can judge by them, and the ledger keeps what they say."""

from spark_jobs.config import Project
from spark_jobs.config.errors import ConfigError
from spark_jobs.config.rule_order import check_order
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run.plan import Plan


def check_rules(project: Project, name: str) -> None:
    """ConfigError where the installed Great Expectations cannot judge by a rule, or where tables would wait for one another: asked before
    Spark starts.
    """
    if project.rules.get(name):
        check_order(project.pipelines[name], project.rules[name], project.conf)
        from spark_jobs.quality.check import check_pipeline_rules  # takes seconds to import: not for a run with nothing to do

        if problems := check_pipeline_rules(project, name):
            raise ConfigError(problems)


def note_rules(project: Project, plan: Plan) -> list[str]:
    """Keep the rules that batches are judged by from now on; names the tables whose rows were judged by others."""
    verdicts, rules = Verdicts(plan.ledger), project.rules.get(plan.pipeline.name, {})
    return [table for table in plan.tables if verdicts.note_rules(table, rules.get(table, ()))]


def keep_rules(project: Project, plan: Plan) -> None:
    """Keep the rules that tables are judged by while they are built beside, until their rows are replaced: then `note_rules`."""
    verdicts, rules = Verdicts(plan.ledger), project.rules.get(plan.pipeline.name, {})
    for table in plan.tables:
        verdicts.keep_rules(table, rules.get(table, ()))
