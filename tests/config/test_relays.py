"""What a file with relays may say, and by which trigger it runs: all else is refused with the reason and
another way.
"""

import re

import pytest

from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.errors import UsageError
from spark_jobs.stream.trigger import check_trigger, parse_trigger
from tests.conftest import Workshop

KAFKA = "{format: kafka, servers: 'a:1', topic: in}"
TO = "{servers: 'a:1', topic: out, key: word}"


def problems(
    workshop: Workshop,
    source: str = KAFKA,
    more: str = "",
    to: str = TO,
    columns: str = "{word: value}",
    rest: str = "",
) -> str:
    relay = f"{{from: {source}, columns: {columns}, to: {to}{more}}}"
    workshop.write("conf/pipelines/words.yml", f"pipeline: words\nrelays:\n  loud: {relay}\n{rest}")
    return "\n".join(map(str, check_folder(workshop.root, {})))


def test_topics_and_rows_by_the_clock_can_be_relayed(idle_workshop: Workshop) -> None:
    assert problems(idle_workshop, more=", where: length(value) > 3 AND partition = 0") == ""
    assert problems(idle_workshop, "{format: rate, rows_per_second: 5}", columns="{word: value % 7}") == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"source": "{format: json, path: words}"},
            r"format: json is incompatible with relays: .* --trigger as-fast-as-possible",
        ),
        ({"source": "{format: socket, port: 1}"}, r"format: socket is incompatible with relays"),
        (
            {"source": "{format: kafka, servers: 'a:1', topic: in, offsets_per_batch: 5}"},
            r"'offsets_per_batch' is incompatible with relays",
        ),
        (
            {"source": "{format: kafka, servers: 'a:1', topic: out}"},
            r"each message would be sent again for ever",
        ),
        ({"columns": "{word: max(value)}"}, r"aggregates rows"),
        ({"columns": "{word: current_timestamp()}"}, r"current_timestamp may not be used"),
        ({"columns": "{word: \"explode(split(value, ' '))\"}"}, r"makes several rows of one"),
        ({"more": ", where: (SELECT 1) = 1"}, r"relays\.loud\.where"),
        ({"more": ", where: amount > 1"}, r"there is no column 'amount' here"),
        (
            {"to": "{servers: 'a:1', topic: out, key: wird}"},
            r"there is no column 'wird'\s+did you mean 'word'",
        ),
        (
            {"rest": "schedule: '@daily'\n"},
            r"'schedule' is incompatible with 'relays': .*\s+give the relays a pipeline file of their own",
        ),
        ({"rest": "sources: {w: {format: text, path: w}}\n"}, r"'sources' is incompatible with 'relays'"),
    ],
)
def test_what_continuous_processing_cannot_do_is_refused(
    idle_workshop: Workshop, given: dict[str, str], said: str
) -> None:
    found = problems(idle_workshop, **given)

    assert re.search(said, found, re.DOTALL), found
    assert re.search(r"conf/pipelines/words\.yml:[2-9]", found), found


@pytest.mark.parametrize("trigger", ["available-now", "once", "as-fast-as-possible", "30 seconds"])
def test_relays_run_by_the_continuous_trigger_alone(idle_workshop: Workshop, trigger: str) -> None:
    assert problems(idle_workshop) == ""
    pipeline = idle_workshop.project.pipelines["words"]
    check_trigger(pipeline, parse_trigger("continuous 1 second"))

    with pytest.raises(
        UsageError,
        match=(
            r"only Spark's continuous processing runs(.|\n)*weir stream words --trigger 'continuous 1 second'"
        ),
    ):
        check_trigger(pipeline, parse_trigger(trigger))
