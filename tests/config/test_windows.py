"""What a window of a gold table may be: its length, its calendar and its zone, and what its measures name."""

import pytest

from spark_jobs.config.definition import definition_parts
from tests.config.conftest import Workspace

HOURLY = "    window: {size: 1 hour, slide: 30 minutes}\n"

ACCEPTED = {
    "a day of a zone": ("{calendar: day, zone: Europe/Berlin}", ""),
    "a month of UTC": ("{calendar: month}", ""),
    "a zone of three parts": ("{calendar: week, zone: America/Argentina/Ushuaia}", ""),
    "another column": ("{calendar: year, zone: UTC, column: paid_at}", ""),
    "no delay": ("{calendar: quarter}", "    watermark: 0 seconds\n    emit: append\n"),
    "no delay of a session": ("{gap: 1 hour}", "    watermark: 0 minutes\n"),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_makes_sense_is_accepted(workspace: Workspace, case: str) -> None:
    window, more = ACCEPTED[case]
    workspace.replace(HOURLY, f"    window: {window}\n{more}")

    assert [str(problem) for problem in workspace.problems()] == []


REFUSED = {
    "both": ("{size: 1 day, calendar: day}", "'size' and 'calendar' are given", "keep or add one"),
    "nothing": ("{zone: Europe/Berlin}", "none is given", "calendar: month"),
    "a unit of another word": ("{calendar: fortnight}", "fortnight", "quarter"),
    "a zone that is none": ("{calendar: day, zone: Europe/Berln}", "no name of a time zone", "Europe/Berlin"),
    "an offset": ("{calendar: day, zone: '+01:00'}", "no name of a time zone", "Europe/Berlin"),
    "SQL for a zone": ("{calendar: day, zone: \"x', 'y\"}", "no name of a time zone", "Europe/Berlin"),
    "a slide": ("{calendar: week, slide: 1 day}", "'slide' is incompatible with 'calendar'", "use size"),
    "a zone of a size": (
        "{size: 1 day, zone: Europe/Berlin}",
        "'zone' is incompatible with 'size'",
        "calendar",
    ),
    "a month as a size": ("{size: 1 month}", "is not a duration", "calendar: month"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_with_the_way(workspace: Workspace, case: str) -> None:
    window, message, hint = REFUSED[case]
    workspace.replace(HOURLY, f"    window: {window}\n")

    problem = workspace.problem()

    assert message in problem.message
    assert hint in problem.hint


def test_measures_may_name_the_bounds_of_their_window(workspace: Workspace) -> None:
    measure = "count(*) / (unix_timestamp(window_end) - unix_timestamp(window_start))"
    workspace.replace("order_count: count(*)", f"order_count: {measure}")
    assert [str(problem) for problem in workspace.problems()] == []

    workspace.replace(HOURLY, "")

    messages = {problem.message for problem in workspace.problems()}
    assert messages >= {f"there is no column 'window_{edge}' here" for edge in ("start", "end")}


def test_a_measure_may_be_about_the_window_alone(workspace: Workspace) -> None:
    workspace.replace("order_count: count(*)", "order_count: date_format(window_start, 'yyyy-MM')")
    assert [str(problem) for problem in workspace.problems()] == []

    workspace.replace("date_format(window_start, 'yyyy-MM')", "upper(city)")

    assert "is not an aggregate" in workspace.problem().message


@pytest.mark.parametrize("measure", ["count(DISTINCT city)", "approx_count_distinct(city, 0.01)"])
def test_different_values_may_be_counted(workspace: Workspace, measure: str) -> None:
    workspace.replace("order_count: count(*)", f"order_count: {measure}")

    assert [str(problem) for problem in workspace.problems()] == []


def test_sketches_may_not_be_kept(workspace: Workspace) -> None:
    workspace.replace("order_count: count(*)", "order_count: hll_sketch_agg(city)")

    assert "depends on the order in which rows arrive" in workspace.problem().message


def test_windows_of_before_are_defined_as_they_were(workspace: Workspace) -> None:
    """Else every older lake would have to be rebuilt."""
    from spark_jobs.config.loading import load_project

    project = load_project(workspace.root, {})
    parts = definition_parts(project.pipelines["shop"], "gold.hourly", project.conf)

    assert parts["window"] == {"size": "1 hour", "slide": "30 minutes", "gap": None, "column": None}
