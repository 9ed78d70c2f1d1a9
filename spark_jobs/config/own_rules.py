"""The rules that a table is judged by: those of its expectation file, and those that follow from what the
pipeline file says of it.
"""

from spark_jobs.config.expectations import Rule
from spark_jobs.config.loading import Project

MAY_END = "snapshot_may_end"
"""The name, and the type, of the rule that bounds how many members one snapshot ends."""


def rules_of(project: Project, pipeline: str) -> dict[str, tuple[Rule, ...]]:
    """By table, by its full name."""
    rules = dict(project.rules.get(pipeline, {}))
    for name, dimension in project.pipelines[pipeline].dimensions.items():
        if dimension.snapshot is not None:
            table = f"dimension.{name}"
            rules[table] = (*rules.get(table, ()), _bound(dimension.snapshot.may_end))
    return rules


def _bound(may_end: str) -> Rule:
    return Rule(
        name=MAY_END,
        type=MAY_END,
        kwargs={"may_end": may_end},
        on_fail="block",
        severity="critical",
        reason="A snapshot that lacks many members is more likely to be cut than right.",
    )


def is_within(may_end: str, ended: int, stood: int) -> bool:
    """Whether a snapshot ends no more than this share of the members that stood before it."""
    return ended * 100 <= int(may_end.removesuffix("%")) * stood
