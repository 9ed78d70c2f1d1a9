"""Checks of when a gold table gives its rows: `emit`, what closes a window, and the watermark."""

from collections.abc import Mapping

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.checks.rollup import check_whole
from spark_jobs.config.gold import Gold
from spark_jobs.config.silver import Silver
from spark_jobs.config.validation import Report

# Checks of when a gold table shows its windows and what becomes of late rows: emit, watermark and late.

ABOUT_WINDOWS = {
    "emit: update": "it recomputes the windows that changed",
    "emit: append": "it shows the windows that are closed",
    "watermark": "it says when a window is closed",
    "late": "it says what becomes of rows whose window is closed",
}


def check_emit(gold: Gold, origin: str, path: Path, report: Report) -> None:
    """Whether emit, watermark and late fit the table and one another; one problem for
    each of them at most.
    """
    if origin != "from":
        if gold.emit in ("append", "update"):
            message = (
                f"'emit: {gold.emit}' is incompatible with {origin!r}: such a table is computed as a whole"
            )
            report.add(
                (*path, "emit"),
                gold.emit,
                message,
                "write emit: complete, or make the table with from and a window",
            )
    elif gold.reads_gold or gold.running:
        check_whole(gold, _closing(gold), path, report)
    elif gold.window is None:
        _check_without_window(gold, path, report)
    elif gold.emit == "complete":
        for key, value in _closing(gold).items():
            message = (
                f"{key!r} is incompatible with emit: complete: every window is shown and computed again,"
                " closed or not"
            )
            report.add((*path, key), value, message, f"remove {key}, or write emit: update or emit: append")
    elif gold.watermark is None:
        _check_without_watermark(gold, path, report)
    elif gold.late == "keep" and gold.kind == "sessions":
        message = (
            "'late: keep' is incompatible with sessions: they are rebuilt from all rows of their group,"
            " late ones among them"
        )
        hint = "remove late, which takes late rows in; or use state with a watermark, which sets them aside"
        report.add((*path, "late"), gold.late, message, hint)


def check_watermark(gold: Gold, silver: Silver, known: Mapping[str, str], path: Path, report: Report) -> None:
    """The watermark follows the event time of the silver table, so the windows must lie on it, too. `known`
    are the table's columns.
    """
    column = gold.window.column if gold.window else None
    if gold.watermark is None or column is None or column not in known:
        return
    place, remove = (*path, "watermark"), "or remove watermark"
    if silver.event_time is None:
        message = (
            f"'watermark' is incompatible with {gold.from_}, which has no event time: it follows the"
            " greatest one"
        )
        report.add(place, gold.watermark, message, f"add event_time: {column} to the silver table, {remove}")
    elif silver.event_time.column != column:
        event = silver.event_time.column
        message = (
            f"'watermark' is incompatible with windows over {column!r}: it follows the event time of"
            f" {gold.from_}, {event!r}"
        )
        report.add(place, gold.watermark, message, f"remove column: {column} from the window, {remove}")


def check_others_watermark(gold: Gold, *, is_kept: bool, path: Path, report: Report) -> None:
    """A silver table keeps what its feed had seen only where a gold table of its own pipeline closes windows
    over it.
    """
    if gold.watermark is not None and not is_kept:
        message = (
            f"'watermark' is incompatible with {gold.from_}, which does not keep what its feed had seen when"
            " a row came"
        )
        hint = "give a gold table of that pipeline a watermark on it, or remove watermark"
        report.add((*path, "watermark"), gold.watermark, message, hint)


def _closing(gold: Gold) -> dict[str, str]:
    """The keys about closed windows that are given."""
    return {
        key: value for key, value in (("watermark", gold.watermark), ("late", gold.late)) if value is not None
    }


def _check_without_window(gold: Gold, path: Path, report: Report) -> None:
    if gold.emit in ("append", "update"):
        what = f"emit: {gold.emit}"
        hint = "add a window, or write emit: complete"
        report.add(
            (*path, "emit"),
            gold.emit,
            f"{what!r} is incompatible with a table without a window: {ABOUT_WINDOWS[what]}",
            hint,
        )
    for key, value in _closing(gold).items():
        message = f"{key!r} is incompatible with a table without a window: {ABOUT_WINDOWS[key]}"
        report.add((*path, key), value, message, f"add a window, or remove {key}")


def _check_without_watermark(gold: Gold, path: Path, report: Report) -> None:
    if gold.emit == "append":
        message = (
            "'emit: append' is incompatible with a table without a watermark: nothing says when a window is"
            " closed, and so shown"
        )
        report.add(
            (*path, "emit"),
            gold.emit,
            message,
            "add watermark: <how late rows may come>, or write emit: update",
        )
    if gold.late is not None:
        message = (
            "'late' is incompatible with a table without a watermark: no window is ever closed, so that no"
            " row is late"
        )
        report.add(
            (*path, "late"), gold.late, message, "add watermark: <how late rows may come>, or remove late"
        )
