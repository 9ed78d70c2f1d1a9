"""Keys about closed windows and late rows are refused where they say nothing, or contradict one another."""

import pytest

from tests.config.conftest import Workspace

WINDOW = "    window: {size: 1 hour, slide: 30 minutes}\n"
# what stands in place of the window of gold.hourly, text of the line that is named, the value, part of the
# message, part of the hint
Case = tuple[str, str, object, str, str]
REFUSED: dict[str, Case] = {
    "update without a window": (
        "    emit: update\n",
        "emit",
        "update",
        (
            "'emit: update' is incompatible with a table without a window: it recomputes the windows that"
            " changed"
        ),
        "add a window, or write emit: complete",
    ),
    "append without a window": (
        "    emit: append\n",
        "emit",
        "append",
        "'emit: append' is incompatible with a table without a window",
        "add a window, or write emit: complete",
    ),
    "a watermark without a window": (
        "    watermark: 1 hour\n",
        "watermark",
        "1 hour",
        "'watermark' is incompatible with a table without a window",
        "add a window, or remove watermark",
    ),
    "late rows without a window": (
        "    late: keep\n",
        "late",
        "keep",
        "'late' is incompatible with a table without a window",
        "add a window, or remove late",
    ),
    "append without a watermark": (
        f"{WINDOW}    emit: append\n",
        "emit",
        "append",
        "'emit: append' is incompatible with a table without a watermark",
        "add watermark: <how late rows may come>, or write emit: update",
    ),
    "late rows without a watermark": (
        f"{WINDOW}    late: repair\n",
        "late",
        "repair",
        "'late' is incompatible with a table without a watermark: no window is ever closed",
        "add watermark",
    ),
    "a watermark of a complete table": (
        f"{WINDOW}    emit: complete\n    watermark: 1 hour\n",
        "watermark",
        "1 hour",
        "'watermark' is incompatible with emit: complete",
        "remove watermark, or write emit: update",
    ),
    "late rows of a complete table": (
        f"{WINDOW}    emit: complete\n    late: keep\n",
        "late",
        "keep",
        "'late' is incompatible with emit: complete",
        "remove late, or write emit: update",
    ),
    "a watermark over another column": (
        "    window: {size: 1 hour, column: paid_at}\n    watermark: 1 hour\n",
        "watermark",
        "1 hour",
        (
            "'watermark' is incompatible with windows over 'paid_at': it follows the event time of"
            " silver.orders, 'ordered_at'"
        ),
        "remove column: paid_at from the window",
    ),
    "a watermark that is no duration": (
        f"{WINDOW}    watermark: soon\n",
        "watermark",
        "soon",
        "'soon' is not a duration",
        "",
    ),
    "a word that emit does not know": (
        f"{WINDOW}    emit: appendd\n",
        "emit",
        "appendd",
        "appendd",
        "append",
    ),
    "a word that late does not know": (
        f"{WINDOW}    watermark: 1 hour\n    late: drop\n",
        "late",
        "drop",
        "drop",
        "repair",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_table_whose_windows_cannot_be_closed_so_is_refused(workspace: Workspace, case: Case) -> None:
    keys, line, value, message, hint = case
    workspace.replace(WINDOW, keys)

    workspace.assert_refused(line, value, message, hint)


@pytest.mark.parametrize(
    "keys",
    [
        "",
        "    emit: complete\n",
        f"{WINDOW}    emit: complete\n",
        f"{WINDOW}    emit: update\n",
        f"{WINDOW}    watermark: 10 minutes\n",
        f"{WINDOW}    watermark: 52 weeks\n    emit: update\n    late: keep\n",
        f"{WINDOW}    watermark: 1 second\n    emit: append\n    late: repair\n",
        (
            "    window: {size: 1 hour, column: ordered_at}\n    watermark: 1 hour\n    emit: append\n   "
            " late: keep\n"
        ),
        "    window: {size: 1 hour, column: paid_at}\n",
    ],
)
def test_windows_may_be_closed_by_a_watermark_on_the_event_time(workspace: Workspace, keys: str) -> None:
    workspace.replace(WINDOW, keys)

    assert workspace.problems() == []


@pytest.mark.parametrize("emit", ["append", "update"])
@pytest.mark.parametrize(
    ("origin", "line"), [("sql", "    sql: sql/top.sql"), ("python", "    python: hooks/shop.py:funnel")]
)
def test_a_table_by_sql_or_python_is_computed_as_a_whole(
    workspace: Workspace, emit: str, origin: str, line: str
) -> None:
    workspace.replace(line, f"{line}\n    emit: {emit}")

    workspace.assert_refused(
        f"emit: {emit}",
        emit,
        f"'emit: {emit}' is incompatible with {origin!r}: such a table is computed as a whole",
        "emit: complete",
    )


@pytest.mark.parametrize("line", ["    sql: sql/top.sql", "    python: hooks/shop.py:funnel"])
def test_a_table_by_sql_or_python_may_say_that_it_is_complete(workspace: Workspace, line: str) -> None:
    workspace.replace(line, f"{line}\n    emit: complete")

    assert workspace.problems() == []


@pytest.mark.parametrize(("key", "value"), [("watermark", "1 hour"), ("late", "keep")])
def test_a_table_by_sql_closes_no_windows(workspace: Workspace, key: str, value: str) -> None:
    workspace.replace("    sql: sql/top.sql", f"    sql: sql/top.sql\n    {key}: {value}")

    workspace.assert_refused(
        f"{key}: {value}", value, f"{key!r} is incompatible with 'sql': it belongs to 'from'", f"remove {key}"
    )


def test_a_watermark_needs_an_event_time(workspace: Workspace) -> None:
    workspace.replace("    event_time: ordered_at\n", "")
    workspace.replace("take: [city]}", "take: [city], as_of: paid_at}")
    workspace.replace(WINDOW, "    window: {size: 1 hour, column: paid_at}\n    watermark: 1 hour\n")

    workspace.assert_refused(
        "watermark:",
        "1 hour",
        "incompatible with silver.orders, which has no event time",
        "add event_time: paid_at to the silver table",
    )


def test_a_watermark_over_a_time_that_a_lookup_takes_is_refused(workspace: Workspace) -> None:
    workspace.replace("take: [city]}", "take: [city, changed_at]}")
    workspace.replace(WINDOW, "    window: {size: 1 hour, column: changed_at}\n    watermark: 1 hour\n")

    workspace.assert_refused(
        "watermark:", "1 hour", "incompatible with windows over 'changed_at'", "remove column: changed_at"
    )


def test_a_window_without_any_time_is_one_problem_with_a_watermark_too(workspace: Workspace) -> None:
    workspace.replace("    event_time: ordered_at\n", "")
    workspace.replace("take: [city]}", "take: [city], as_of: paid_at}")
    workspace.replace(WINDOW, f"{WINDOW}    watermark: 1 hour\n")

    workspace.assert_refused(
        "window:", "silver.orders", "silver.orders has no event time", "event_time to the silver table"
    )


def test_all_mistaken_keys_of_a_table_are_named_at_once(workspace: Workspace) -> None:
    workspace.replace(WINDOW, "    emit: append\n    watermark: 1 hour\n    late: keep\n")

    assert [problem.where for problem in workspace.problems()] == [
        "gold.hourly.emit",
        "gold.hourly.watermark",
        "gold.hourly.late",
    ]


def test_sql_may_read_the_system_columns_of_windows_and_of_silver(workspace: Workspace) -> None:
    workspace.replace(WINDOW, f"{WINDOW}    watermark: 1 hour\n")
    workspace.write(
        "conf/sql/top.sql", "SELECT city, _row_count AS order_count, _revision AS revision FROM gold.hourly"
    )

    assert workspace.problems() == []


def test_windows_without_a_watermark_have_no_revision(workspace: Workspace) -> None:
    workspace.write("conf/sql/top.sql", "SELECT city, _revision AS revision FROM gold.hourly")

    workspace.assert_refused(
        "_revision", "_revision", "no column '_revision' in gold.hourly", "_row_count", "conf/sql/top.sql"
    )
