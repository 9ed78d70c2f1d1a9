"""Checks rules against the Great Expectations that is installed: does the type exist, does it work on Spark,
does it take these arguments?

Importing GX takes seconds: `weir check` does it where there are rules, and a run once it has something to do.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from typing import Any

from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.exceptions.exceptions import GreatExpectationsError, MetricProviderError
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations import core
from great_expectations.expectations.core.expect_column_quantile_values_to_be_between import QuantileRange
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.registry import (
    get_expectation_impl,
    get_metric_provider,
    list_registered_expectation_implementations,
)
from pyspark.sql import types

from spark_jobs.config.errors import Problem, did_you_mean
from spark_jobs.config.expectation_types import OWN, REFUSED
from spark_jobs.config.expectations import Rule
from spark_jobs.config.loading import Project
from spark_jobs.config.names import shorten
from spark_jobs.config.regexes import judge_regex
from spark_jobs.config.rule_files import rules_file
from spark_jobs.config.validation import Report
from spark_jobs.quality.patterns import explain_pattern

# What GX takes beside the arguments that say what is expected, and where an expectation file has it.
ELSEWHERE = {
    "severity": "write severity beside kwargs",
    "description": "write reason beside kwargs",
    "notes": "write reason beside kwargs",
    "meta": "write reason beside kwargs",
}

SPARK_TYPES = sorted(
    name for name, kind in vars(types).items() if isinstance(kind, type) and issubclass(kind, types.DataType)
)


def check_rules(project: Project) -> list[Problem]:
    """Every problem that Great Expectations has with the rules of a project."""
    return [problem for pipeline in project.rules for problem in check_pipeline_rules(project, pipeline)]


def check_pipeline_rules(project: Project, pipeline: str) -> list[Problem]:
    """The same for one pipeline. Weir's own types are not GX's to judge; config/checks/rules.py does."""
    problems: list[Problem] = []
    for table, rules in project.rules[pipeline].items():
        report = Report(rules_file(project.root, pipeline, table), project.root)
        for rule in rules:
            if rule.type not in OWN:
                _check_rule(rule, report)
        problems += report.problems
    return problems


@cache
def usable_types() -> tuple[str, ...]:
    """GX's own types that can be evaluated on Spark, and that Weir does not refuse."""
    known = list_registered_expectation_implementations()
    return tuple(
        sorted(name for name in known if name not in REFUSED and _is_of_core(name) and _works_on_spark(name))
    )


def _check_rule(rule: Rule, report: Report) -> None:
    path = ("expectations", rule.name)
    if rule.type in REFUSED:
        report.add(
            (*path, "type"),
            rule.type,
            f"{rule.type} cannot be used here: {REFUSED[rule.type]}",
            "use another type",
        )
    elif rule.type not in usable_types():
        is_there = rule.type in list_registered_expectation_implementations()
        message = (
            f"Great Expectations has {rule.type}, but not for Spark"
            if is_there
            else f"there is no type {shorten(rule.type)}"
        )
        report.add((*path, "type"), rule.type, message, did_you_mean(rule.type, [*usable_types(), *OWN]))
    else:
        for key, message, hint in judge_rule(rule.type, rule.kwargs):
            report.add(
                (*path, "kwargs", *key), rule.kwargs.get(key[0]) if key else dict(rule.kwargs), message, hint
            )


def judge_rule(kind: str, kwargs: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What is wrong with the arguments of a type that can be used: the key, a message and a hint each."""
    yield from _judge_arguments(get_expectation_impl(kind), kwargs)
    yield from _judge_patterns(kwargs)


def _judge_arguments(
    expectation: type[Expectation], kwargs: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What is wrong with the arguments: the key, a message and a hint each."""
    allowed = [
        name
        for name in expectation.__fields__
        if name not in {*Expectation.__fields__, "batch_id", "library_metadata"}
    ]
    for name in kwargs:
        if name not in allowed:
            message = f"{expectation.expectation_type} has no argument {name!r}"
            yield (name,), message, ELSEWHERE.get(name) or did_you_mean(name, allowed)
    for name in ("type_", "type_list"):
        given = kwargs.get(name)
        for strange in [
            kind
            for kind in (given if isinstance(given, list) else [given])
            if isinstance(kind, str) and kind not in SPARK_TYPES
        ]:
            yield (
                (name,),
                f"{shorten(strange)} is not the name of a type of PySpark",
                did_you_mean(strange, SPARK_TYPES),
            )
    try:
        _construct(expectation, {name: value for name, value in kwargs.items() if name in allowed})
    except ValidationError as error:
        yield from _explain(error, kwargs)
    except (GreatExpectationsError, OverflowError) as error:
        yield (), f"Great Expectations refuses the arguments: {error}", "correct them"


def _judge_patterns(kwargs: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What RE2 itself says of the patterns; config/regexes.py has told most of it before, without RE2."""
    given = {"regex": [kwargs.get("regex")], "regex_list": kwargs.get("regex_list")}
    for name, patterns in given.items():
        for pattern in patterns if isinstance(patterns, list) else []:
            wrong = (
                explain_pattern(pattern)
                if isinstance(pattern, str) and judge_regex(pattern) is None
                else None
            )
            if wrong is not None:
                yield (
                    (name,),
                    f"{shorten(pattern)} cannot be used: {wrong}",
                    "see https://github.com/google/re2/wiki/Syntax",
                )


def _construct(expectation: type[Expectation], kwargs: Mapping[str, Any]) -> Expectation:
    """GX prints advice and warns of coming versions; neither is for the reader of a list of problems."""
    with warnings.catch_warnings(action="ignore"), redirect_stdout(StringIO()):
        return expectation(**_typed(kwargs))


def _typed(kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """GX takes any mapping for a parameter of the suite, and so would not look into these."""
    ranges = kwargs.get("quantile_ranges")
    return {**kwargs, "quantile_ranges": QuantileRange(**ranges)} if isinstance(ranges, dict) else kwargs


def _explain(error: ValidationError, kwargs: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """One problem for each argument: GX complains once for every type that it might have been."""
    reasons: dict[str, list[str]] = {}
    for found in error.errors():
        reasons.setdefault(str(found["loc"][0]), []).append(found["msg"])
    together = reasons.pop("__root__", [])
    if together and not reasons:
        yield (), "Great Expectations refuses the arguments together", "; ".join(together)
    for name, texts in reasons.items():
        if name in kwargs:
            said = dict.fromkeys(text for text in texts if "dict" not in text or len(texts) == 1)
            yield (
                (name,),
                f"{shorten(kwargs[name])} cannot be the argument {name!r}",
                f"Great Expectations says: {'; '.join(said)}",
            )
        else:
            yield (), f"the argument {name!r} is missing", f"add {name}"


def _is_of_core(name: str) -> bool:
    return get_expectation_impl(name).__module__.startswith(f"{core.__name__}.")


def _works_on_spark(name: str) -> bool:
    """What the type's module says of it; the few that say nothing judge single values, and need a metric for
    Spark.
    """
    expectation = get_expectation_impl(name)
    said = getattr(sys.modules[expectation.__module__], "SUPPORTED_DATA_SOURCES", None)
    if said is not None:
        return "Spark" in said
    # only its class is asked for: no session is there, nor needed
    engine = SparkDFExecutionEngine.__new__(SparkDFExecutionEngine)
    try:
        get_metric_provider(f"{getattr(expectation, 'map_metric', '')}.condition", engine)
    except MetricProviderError:
        return False
    return True
