"""The trigger form of a pipeline's DAG: what a person may ask of one run, and what that
means for each task.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import Param

from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.task_stages import LAYERS

ALL_TABLES = "all tables"
NO_TABLE = "no table"
CHANGED_TABLES = "tables whose definition changed"
MOST_FILES = 100_000
UPKEEP = "weir_maintenance"
SCHEDULED_FIRST = " If this DAG is paused, triggering switches it on, and the run of its schedule goes first."


@dataclass(frozen=True)
class Asked:
    """What the form says. Airflow has checked the values against the form's schema."""

    tables: str = ALL_TABLES
    full_refresh: bool = False
    files_per_batch: int | None = None
    rebuild: str = NO_TABLE
    replay: str = NO_TABLE
    dry_run: bool = False
    when_blocked: str = "ask"

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Asked":
        return cls(**{name: params[name] for name in cls.__dataclass_fields__ if name in params})

    def contradiction(self) -> str | None:
        if self.full_refresh and self.rebuild != NO_TABLE:
            return (
                f"'Full refresh' builds every table again, '{self.rebuild}' among them: choose one of the two"
            )
        return None

    def quarantine_requests(self, pipeline: str) -> list[list[str]]:
        """The commands that come before the increment."""
        dry = ["--dry-run"] if self.dry_run else []
        commands = []
        if self.full_refresh:
            commands.append(["rebuild", pipeline, "--all", *dry])
        elif self.rebuild != NO_TABLE:
            commands.append(
                ["rebuild", pipeline, *([] if self.rebuild == CHANGED_TABLES else [self.rebuild]), *dry]
            )
        if self.replay != NO_TABLE:
            commands.append(["quarantine", "replay", pipeline, self.replay, *dry])
        return commands

    def run_arguments(self, covered: Collection[str], is_whole: bool) -> list[str] | None:
        """The arguments of `weir run` for a task that covers these tables; None where nothing of it is asked
        for.

        A task that covers the whole pipeline names no tables.
        """
        layers = LAYERS.get(self.tables)
        if self.tables == ALL_TABLES:
            wanted = list(covered)
        elif layers:
            wanted = [table for table in covered if table.partition(".")[0] in layers]
        else:
            wanted = [table for table in covered if table == self.tables]
        if not wanted:
            return None
        is_all = is_whole and len(wanted) == len(covered)
        select = [] if is_all else [argument for table in wanted for argument in ("--select", table)]
        batch = ["--files-per-batch", str(self.files_per_batch)] if self.files_per_batch is not None else []
        return [*select, *batch]


def say_unknown(conf: Mapping[str, Any]) -> str | None:
    """What is wrong with keys that the form does not have. Airflow takes any, and a run with `dryrun` would
    load for real.
    """
    known = list(Asked.__dataclass_fields__)
    unknown = [name for name in conf if name not in known]
    return "; ".join(f"the form has no key {name!r}: {did_you_mean(name, known)}" for name in unknown) or None


def say_formless(conf: Mapping[str, Any]) -> str | None:
    """What is wrong with any key of the upkeep's DAG: a run with `dry_run` would delete old files."""
    named = ", ".join(map(repr, conf))
    hint = "to see what there is to do, use `weir maintain --dry-run`"
    return f"{UPKEEP} has no form, and does not know {named}; {hint}" if conf else None


def form(pipeline: Pipeline) -> dict[str, Param]:
    """Typed and bounded: Airflow refuses anything else before a run begins."""
    tables = [f"{layer}.{name}" for layer, name, _ in pipeline.nodes()]
    layers = [
        layer for layer, parts in LAYERS.items() if any(table.partition(".")[0] in parts for table in tables)
    ]
    built = [table for table in tables if not table.startswith("bronze.")]
    judged = [table for table in built if not table.startswith(("gold.", "sink."))]
    return {
        "tables": _select(
            ALL_TABLES,
            [ALL_TABLES, *layers, *tables],
            "What to run",
            "A layer or one table, instead of all that is"
            f" due.{SCHEDULED_FIRST if isinstance(pipeline.schedule, str) else ''}",
        ),
        "files_per_batch": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            maximum=MOST_FILES,
            title="Files per batch",
            description="For files that are new in this run, instead of what the pipeline file says.",
        ),
        "rebuild": _select(
            NO_TABLE,
            [NO_TABLE, CHANGED_TABLES, *built],
            "Rebuild",
            "Build a table again from bronze, with all below it: beside the old one, compared, then swapped.",
        ),
        "full_refresh": Param(
            False,
            type="boolean",
            title="Full refresh",
            description=(
                "Build every dimension, silver and gold table again from bronze. Readers keep the old ones"
                " until then."
            ),
        ),
        "replay": _select(
            NO_TABLE,
            [NO_TABLE, *judged],
            "Replay quarantine",
            "Take the open rows in this table's quarantine through today's definition and rules, and publish"
            " those that pass.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Only say what would be done. A rebuild is built and compared, not swapped.",
        ),
        "when_blocked": _select(
            pipeline.when_blocked,
            ["ask", "fail"],
            "When a batch is blocked",
            "ask: wait for a person's decision in this run; fail: fail the run, and judge the batch again in"
            " the next.",
        ),
    }


def _select(default: str, values: list[str], title: str, description: str) -> Param:
    return Param(default, type="string", enum=values, title=title, description=description)
