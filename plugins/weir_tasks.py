"""The tasks of a pipeline's DAG, in their order: prepare, run, decide, finish. In a run in which nothing is
asked for and nothing is blocked, all of them succeed.

What is blocked waits for a person in `decide`; the tasks before it have done their work when they have judged
and blocked a batch.
"""

import re
from collections.abc import Sequence
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.providers.standard.utils.skipmixin import SkipMixin
from airflow.sdk import Context, Param
from airflow.sdk.exceptions import AirflowSkipException
from weir_assets import announce, table_assets
from weir_form import Asked, say_unknown
from weir_operator import BLOCKED, Result, WeirFailedForGood, WeirOperator

from spark_jobs.config.text import count

RELEASE, SET_ASIDE, STOP = "Release", "Set aside", "Stop"
COMMANDS = {RELEASE: "release", SET_ASIDE: "set-aside", STOP: "hold"}
ACTIONS = {RELEASE: "release", SET_ASIDE: "set_aside", STOP: "hold"}
"""What the engine calls them, in the `actions` that it allows for a blocked batch."""
ASKED = "asked"
"""What the question was about: the answer, which may come a day later, is about nothing else."""
BY_HAND = ("manual", "asset_materialization")
REASON = Param("", type="string", maxLength=500, title="Why", description="For those who read it later.")


class Prepare(WeirOperator, SkipMixin):
    """Asks `weir plan`, which starts no JVM, and does what the form asks for beside an increment; what that
    publishes is announced with its own figures. Where there is nothing to do, and in a dry run, all tasks
    that follow are skipped.
    """

    inherits_from_skipmixin = True

    def __init__(self, *, pipeline: str, tables: Sequence[str], **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, outlets=table_assets(pipeline, tables), **kwargs)

    def execute(self, context: Context) -> Result:
        dag_run = context.get("dag_run")
        asked = Asked.of(context["params"])
        if problem := say_unknown((dag_run and dag_run.conf) or {}) or asked.contradiction():
            raise WeirFailedForGood(problem)
        if asked.dry_run:
            self.log.info("dry run: this run says what it would do, and neither loads nor changes anything")
        plan = self.weir(context, ["plan", self.pipeline])
        commands = asked.quarantine_requests(self.pipeline)
        results = [tell(self, context, self.weir(context, command)) for command in commands]
        if asked.dry_run:
            self.log.info("dry run: nothing was loaded or changed")
        if asked.dry_run or (not commands and plan["status"] != "work"):
            self.skip(ti=context["ti"], tasks=context["task"].get_flat_relatives(upstream=False))
        return {**plan, "is_dry_run": asked.dry_run, "results": results}


class RunTables(WeirOperator):
    """One increment of the tables that this task covers. A batch that is blocked is a result: `decide`
    follows.
    """

    def __init__(self, *, pipeline: str, tables: Sequence[str], is_whole: bool, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, outlets=table_assets(pipeline, tables), **kwargs)
        self.tables, self.is_whole = list(tables), is_whole

    def execute(self, context: Context) -> Result:
        asked = Asked.of(context["params"])
        arguments = asked.run_arguments(self.tables, self.is_whole)
        if arguments is None:
            raise AirflowSkipException(f"the form asks for {asked.tables} alone")
        return tell(self, context, self.weir(context, ["run", self.pipeline, *arguments], also=[BLOCKED]))


class Decide(HITLOperator):
    """Waits for a person where a batch is blocked: publish it anyway, set its rows aside, or stop.
    Nobody is asked where nothing is blocked, and where somebody has stopped the same before, unless a person
    has started this run.

    It is retried, and asks again, where Airflow itself loses an answer: one that comes in the second in which
    the task begins to wait.
    """

    def __init__(self, *, pipeline: str, run_tasks: Sequence[str], **kwargs: Any) -> None:
        super().__init__(
            subject=f"{pipeline}: a batch is blocked",
            options=[RELEASE, SET_ASIDE, STOP],
            **kwargs,
        )
        self.pipeline = pipeline
        self.run_tasks = list(run_tasks)
        self.blocked: list[Result] = []

    def execute(self, context: Context) -> Any:
        blocked = blocked_tables(context, self.run_tasks)
        if not blocked:
            self.log.info("no batch is blocked: there is nothing to decide")
            return None
        result = {"blocked": blocked, "pipeline": self.pipeline}
        if Asked.of(context["params"]).when_blocked == "fail":
            raise WeirFailedForGood(
                f"{self.pipeline} ended with {BLOCKED} (data blocked by quality): {_say(blocked)}", result
            )
        if all(entry.get("stopped") for entry in blocked) and not is_by_hand(context):
            raise WeirFailedForGood(say_stopped(self.pipeline, blocked), result)
        self.blocked = blocked
        self.subject = (
            f"{self.pipeline}: {', '.join(str(entry['table']) for entry in blocked)} blocked, waiting for"
            " your decision"
        )
        self.options = options_for(blocked)
        self.body = body(self.pipeline, blocked)
        context["ti"].xcom_push(key=ASKED, value=blocked)
        return super().execute(context)

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        if event["error_type"] == "timeout":
            raise WeirFailedForGood(
                f"nobody decided within {self.response_timeout}; the batch stays blocked, and the next run"
                " asks again"
            )
        super().process_trigger_event_error(event)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        answer = super().execute_complete(context, event)
        user = answer["responded_by_user"] or {}
        by = user.get("name") or user.get("id") or "somebody in Airflow"
        choice, reason = answer["chosen_options"][0], str(answer["params_input"].get("reason") or "").strip()
        if not reason:
            raise WeirFailedForGood(
                f"{by} chose {choice!r} without a reason, and nothing was done; clear this task to be asked"
                " again"
            )
        self.log.info("%s decided: %s, because: %s", by, choice, reason)
        asked = context["ti"].xcom_pull(task_ids=self.task_id, key=ASKED)
        if not asked:
            raise WeirFailedForGood(
                f"what {by} was asked about is not known, and nothing was done; clear this task to be asked"
                " again"
            )
        return {"action": COMMANDS[choice], "blocked": asked, "reason": reason, "by": by}


class Finish(WeirOperator):
    """Does what was decided and goes on with the tables below, then makes the page of the newest run again.
    Fails where that was to stop. The decision is recorded in the ledger, with who and why.
    """

    def __init__(self, *, pipeline: str, tables: Sequence[str], decide_task: str, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, outlets=table_assets(pipeline, tables), **kwargs)
        self.decide_task = decide_task

    def execute(self, context: Context) -> Result:
        decision = context["ti"].xcom_pull(task_ids=self.decide_task)
        results = self._carry_out(context, decision) if decision else []
        report = self.weir(context, ["report", self.pipeline])
        if decision and decision["action"] == COMMANDS[STOP]:
            blocked = _blocked_in(decision)
            later = (
                "it stays blocked, and nobody is asked again before it is another batch or a run is started"
                " by hand"
            )
            message = f"stopped by {decision['by']}: {decision['reason']}; {_say(blocked)}; {later}"
            raise WeirFailedForGood(message, {"blocked": blocked, "pipeline": self.pipeline})
        return {**report, "results": results}

    def _carry_out(self, context: Context, decision: Result) -> list[Result]:
        results, blocked = [], _blocked_in(decision)
        # of a run of an earlier version
        if unseen := [str(entry["table"]) for entry in blocked if not entry.get("seen")]:
            said = (
                f"it is not known what {decision['by']} saw of {', '.join(unseen)}, and something else may be"
                " blocked by now"
            )
            raise WeirFailedForGood(
                f"{said}: nothing was decided; run the DAG again, which judges the batch again and asks"
                " about it"
            )
        for entry in blocked:
            arguments = [decision["action"], self.pipeline, entry["table"], "--seen", entry["seen"]]
            arguments += ["--reason", decision["reason"], "--by", decision["by"]]
            results.append(tell(self, context, self.weir(context, arguments)))
        # Carried out before, by a try of this task that was cut, it may be, before the tables below.
        if decision["action"] != COMMANDS[STOP] and any(is_over(result) for result in results):
            results.append(tell(self, context, self.weir(context, ["run", self.pipeline])))
        return results


def blocked_tables(context: Context, run_tasks: Sequence[str]) -> list[Result]:
    """What is blocked in the runs of this DAG run."""
    results = [context["ti"].xcom_pull(task_ids=task) for task in run_tasks]
    return [entry for result in results if result for entry in _blocked_in(result)]


def _blocked_in(result: Result) -> list[Result]:
    """Of a run or a decision. One from before an upgrade, with which nobody has gone on yet, says `held`."""
    return list(result.get("blocked") or result.get("held") or [])


def is_over(result: Result) -> bool:
    """Whether a decision came to a table of which nothing is blocked any more."""
    return result.get("status") == "nothing_to_do"


def is_by_hand(context: Context) -> bool:
    """Whether a person has started this DAG run."""
    dag_run = context.get("dag_run")
    return dag_run is not None and dag_run.run_type in BY_HAND


def say_stopped(pipeline: str, blocked: Sequence[Result]) -> str:
    """Why nobody is asked, and how to decide anyway."""
    who = "; ".join(
        f"{entry['table']}: {entry['stopped']['by']} left it blocked: {entry['stopped']['reason']}"
        for entry in blocked
    )
    ways = (
        f"correct the data or the rule, trigger {pipeline} by hand to be asked, or use `weir release` or"
        " `weir set-aside`"
    )
    return (
        f"{pipeline} is blocked by quality, as it was when somebody chose {STOP!r}, and nobody is asked"
        f" again. {who}. To go on: {ways}"
    )


def options_for(blocked: Sequence[Result]) -> list[str]:
    """The buttons: what the engine allows for each of the blocked batches, so that no answer is refused
    half-way. A result of an earlier version does not say what is allowed.
    """
    return [
        choice
        for choice, action in ACTIONS.items()
        if all(action in (entry.get("actions") or ACTIONS.values()) for entry in blocked)
    ]


def body(pipeline: str, blocked: Sequence[Result]) -> str:
    """What a person must know to decide. Nothing of it comes from a row, and no markup in it acts; of a bare
    web address Airflow makes a link.
    """
    lines = ["Nothing of these batches is published, and readers keep the last good version.", ""]
    for entry in blocked:
        what = count(entry["rows"], "row") if entry["rows"] else "a batch that only removes rows"
        lines += [f"**{code(entry['table'])}**: {what}, blocked by", ""]
        for finding in entry.get("findings") or [{"rule": rule} for rule in entry["rules"]]:
            why = f". Why there is such a rule: {prose(finding['reason'])}" if finding.get("reason") else ""
            lines.append(f"* {code(finding['rule'])}: {prose(finding.get('found') or 'it is not met')}{why}")
        if stopped := entry.get("stopped"):
            lines += [
                "",
                f"{prose(stopped['by'])} has seen the same, and chose *{STOP}*: {prose(stopped['reason'])}",
            ]
        lines.append("")
    aside = f" **{SET_ASIDE}** puts the rows into quarantine." if SET_ASIDE in options_for(blocked) else ""
    lines += [
        f"**{RELEASE}** publishes them anyway.{aside}",
        f"**{STOP}** leaves them blocked and fails this run: correct the data or the rule, and run again.",
        "",
        (
            "A decision needs a reason, and the right to edit runs of this DAG (with the users of `make up`:"
            " any role above *viewer*). Without one of the two the buttons stay grey."
        ),
        "",
        f"The whole story is in the *Data quality* tab of this run, or `weir report {pipeline} --open`.",
    ]
    return "\n".join(lines)


def code(text: Any) -> str:
    """Text as Markdown's code: on one line, and without the mark that would end it."""
    return "`" + " ".join(str(text).replace("`", "'").split()) + "`"


def prose(text: Any) -> str:
    """Text as it is: in Markdown a backslash takes the meaning from any mark of ASCII."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(str(text).split()))


def tell(task: WeirOperator, context: Context, result: Result) -> Result:
    """Announce what was published, and say so. What is blocked the command has said itself."""
    for name in announce(context, task.pipeline, result):
        task.log.info("announced: %s", name)
    return result


def _say(blocked: Sequence[Result]) -> str:
    return "; ".join(str(entry["message"]) for entry in blocked)
