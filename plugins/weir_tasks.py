"""The tasks of a pipeline's DAG, in their order: is there work, rebuild or replay, run, decide, carry out, report.

What is held waits for a person in `decide`; the tasks before it have done their work when they have judged and held a batch.
"""

from collections.abc import Sequence
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.providers.standard.utils.skipmixin import SkipMixin
from airflow.sdk import Context, Param
from airflow.sdk.exceptions import AirflowSkipException
from weir_assets import announce, table_assets, updates
from weir_form import Asked
from weir_operator import HELD, Result, WeirFailedForGood, WeirOperator

RELEASE, SET_ASIDE, STOP = "Release", "Set aside", "Stop"
COMMANDS = {RELEASE: "release", SET_ASIDE: "set-aside", STOP: "hold"}
ASKED = "asked"
"""What the question was about: the answer, which may come a day later, is about nothing else."""
REASON = Param("", type="string", maxLength=500, title="Why", description="For those who read it later.")


class HasWork(WeirOperator, SkipMixin):
    """Asks `weir plan`, which starts no JVM. Where there is nothing to do, all tasks that follow are skipped."""

    inherits_from_skipmixin = True

    def execute(self, context: Context) -> Result:
        asked = Asked.of(context["params"])
        if problem := asked.contradiction():
            raise WeirFailedForGood(problem)
        plan = self.weir(context, ["plan", self.pipeline])
        errands = asked.errands(self.pipeline)
        followers = context["task"].get_flat_relatives(upstream=False)
        if not errands and (asked.dry_run or plan["status"] != "work"):
            self.skip(ti=context["ti"], tasks=followers)
        if not errands:  # marked as skipped here, for which no process has to start
            self.skip(ti=context["ti"], tasks=[task for task in followers if isinstance(task, RebuildOrReplay)])
        return plan


class RebuildOrReplay(WeirOperator):
    """What the form asks for beside an increment; skipped in every scheduled run."""

    def execute(self, context: Context) -> list[Result]:
        return [self.weir(context, command) for command in Asked.of(context["params"]).errands(self.pipeline)]


class RunTables(WeirOperator):
    """One increment of the tables that this task covers. A batch that is held is a result: `decide` follows."""

    def __init__(self, *, pipeline: str, tables: Sequence[str], is_whole: bool, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, inlets=table_assets(pipeline, tables), outlets=[updates(pipeline)], **kwargs)
        self.tables, self.is_whole = list(tables), is_whole

    def execute(self, context: Context) -> Result:
        asked = Asked.of(context["params"])
        arguments = None if asked.dry_run else asked.run_arguments(self.tables, self.is_whole)
        if arguments is None:
            raise AirflowSkipException("a dry run changes nothing" if asked.dry_run else f"the form asks for {asked.tables} alone")
        return tell(self, context, self.weir(context, ["run", self.pipeline, *arguments], also=[HELD]))


class Decide(HITLOperator):
    """Waits for a person where a batch is held: publish it all the same, set its rows aside, or stop. Skipped where nothing is held.

    It is retried, and asks again, where Airflow itself loses an answer: one that comes in the second in which the task begins to wait.
    """

    def __init__(self, *, pipeline: str, run_tasks: Sequence[str], **kwargs: Any) -> None:
        super().__init__(
            subject=f"{pipeline}: a batch is held",
            options=[RELEASE, SET_ASIDE, STOP],
            **kwargs,
        )
        self.pipeline = pipeline
        self.run_tasks = list(run_tasks)
        self.held: list[Result] = []

    def execute(self, context: Context) -> Any:
        held = held_tables(context, self.run_tasks)
        if not held:
            raise AirflowSkipException("nothing is held")
        if Asked.of(context["params"]).when_held == "fail":
            result = {"held": held, "pipeline": self.pipeline}
            raise WeirFailedForGood(f"{self.pipeline} ended with {HELD} (data blocked by quality): {_say(held)}", result)
        self.held = held
        self.subject = f"{self.pipeline}: {', '.join(str(entry['table']) for entry in held)} held, waiting for your decision"
        self.body = body(self.pipeline, held)
        context["ti"].xcom_push(key=ASKED, value=held)
        return super().execute(context)

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        if event["error_type"] == "timeout":
            raise WeirFailedForGood(f"nobody decided within {self.response_timeout}; the batch stays held, and the next run asks again")
        super().process_trigger_event_error(event)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        answer = super().execute_complete(context, event)
        user = answer["responded_by_user"] or {}
        by = user.get("name") or user.get("id") or "somebody in Airflow"
        choice, reason = answer["chosen_options"][0], str(answer["params_input"].get("reason") or "").strip()
        if not reason:
            raise WeirFailedForGood(f"{by} chose {choice!r} without a reason, and nothing was done; clear this task to be asked again")
        self.log.info("%s decided: %s, because: %s", by, choice, reason)
        asked = context["ti"].xcom_pull(task_ids=self.task_id, key=ASKED)
        if not asked:
            raise WeirFailedForGood(f"what {by} was asked about is not known, and nothing was done; clear this task to be asked again")
        return {"action": COMMANDS[choice], "held": asked, "reason": reason, "by": by}


class CarryOut(WeirOperator):
    """Does what was decided, and goes on with the tables below; fails where that was to stop. The decision is recorded in the ledger, with
    who and why.
    """

    def __init__(self, *, pipeline: str, tables: Sequence[str], decide_task: str, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, inlets=table_assets(pipeline, tables), outlets=[updates(pipeline)], **kwargs)
        self.decide_task = decide_task

    def execute(self, context: Context) -> list[Result]:
        decision = context["ti"].xcom_pull(task_ids=self.decide_task)
        results, held = [], decision["held"]
        if unseen := [str(entry["table"]) for entry in held if not entry.get("seen")]:  # of a run of an earlier version
            said = f"it is not known what {decision['by']} saw of {', '.join(unseen)}, and something else may be held by now"
            raise WeirFailedForGood(f"{said}: nothing was decided; run the DAG again, which judges the batch again and asks about it")
        for entry in held:
            arguments = [decision["action"], self.pipeline, entry["table"], "--seen", entry["seen"]]
            arguments += ["--reason", decision["reason"], "--by", decision["by"]]
            results.append(tell(self, context, self.weir(context, arguments)))
        if decision["action"] == COMMANDS[STOP]:
            message = f"stopped by {decision['by']}: {decision['reason']}; {_say(held)}; the next run judges the batch again"
            raise WeirFailedForGood(message, {"held": held, "pipeline": self.pipeline})
        return results


class Report(WeirOperator):
    """Makes the page of the newest run and the lists again, and says the verdict."""

    def execute(self, context: Context) -> Result:
        return self.weir(context, ["report", self.pipeline])


def held_tables(context: Context, run_tasks: Sequence[str]) -> list[Result]:
    """What the runs of this DAG run have held."""
    results = [context["ti"].xcom_pull(task_ids=task) for task in run_tasks]
    return [entry for result in results if result for entry in result.get("held", [])]


def body(pipeline: str, held: Sequence[Result]) -> str:
    """What a person must know to decide. Nothing of it comes from a row; names of rules and tables are code, so that no markup acts."""
    lines = ["Nothing of these batches is published, and readers keep the last good version.", ""]
    for entry in held:
        rules = ", ".join(f"`{rule}`" for rule in entry["rules"])
        what = f"{entry['rows']:,} rows" if entry["rows"] else "a batch that only removes rows"
        lines += [f"* `{entry['table']}`: {what}, because of {rules}", ""]
    lines += [
        f"**{RELEASE}** publishes them all the same. **{SET_ASIDE}** puts the rows into quarantine (not for gold tables).",
        f"**{STOP}** leaves them held and fails this run: mend the data or the rule, and run again.",
        "",
        f"The whole story is in the *Data quality* tab of this run, or `weir report {pipeline} --open`.",
    ]
    return "\n".join(lines)


def tell(task: WeirOperator, context: Context, result: Result) -> Result:
    """Announce what was published, and say what is held."""
    for name in announce(context, task.pipeline, result):
        task.log.info("announced: %s", name)
    for entry in result.get("held", []):
        task.log.warning("held: %s", entry["message"])
    return result


def _say(held: Sequence[Result]) -> str:
    return "; ".join(str(entry["message"]) for entry in held)
