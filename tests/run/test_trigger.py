"""The triggers by name, and the pipelines that cannot have one."""

from datetime import timedelta

import pytest

from spark_jobs.config.errors import UsageError
from spark_jobs.stream.trigger import Trigger, UnknownTrigger, check_trigger, parse_trigger
from tests.conftest import Workshop


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("available-now", Trigger("available-now")),
        ("once", Trigger("once")),
        ("as-fast-as-possible", Trigger("as-fast-as-possible")),
        ("30 seconds", Trigger("every", timedelta(seconds=30))),
        ("continuous 1 second", Trigger("continuous", timedelta(seconds=1))),
    ],
)
def test_a_trigger_is_known_by_its_name(text: str, expected: Trigger) -> None:
    assert parse_trigger(text) == expected


@pytest.mark.parametrize("text", ["", "fast", "0 seconds", "continuous", "continuously 1 second", "30"])
def test_another_name_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(
        UnknownTrigger, match=r"available-now, once, as-fast-as-possible, a pause such as '30 seconds'"
    ):
        parse_trigger(text)


def test_the_continuous_trigger_is_refused_with_its_reason_and_what_to_take_instead(
    idle_workshop: Workshop,
) -> None:
    idle_workshop.write(
        "conf/pipelines/log.yml",
        "pipeline: log\nsources: {lines: {format: json, path: log}}\nsilver: {lines: {from: lines, columns:"
        " {id: bigint}}}\n",
    )

    with pytest.raises(
        UsageError,
        match=r"neither foreachBatch nor Delta as a target(.|\n)*use --trigger as-fast-as-possible",
    ):
        check_trigger(idle_workshop.project.pipelines["log"], parse_trigger("continuous 1 second"))
