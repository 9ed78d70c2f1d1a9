"""Notices about a run that failed, waits for a person or is late: to the log, to a webhook and by e-mail,
through Airflow's own notifiers.

They name pipeline, task, tables, rules and counts, and where to look. No value of any row is in them.
"""

import html
from collections.abc import Iterator, Sequence
from typing import Any

from airflow.sdk import BaseNotifier, Context

LONGEST = 2_000


class WeirNotifier(BaseNotifier):
    """`what` happened, told to every channel that the pipeline file names."""

    def __init__(
        self,
        *,
        pipeline: str,
        what: str,
        to_log: bool = True,
        webhook: str | None = None,
        email: Sequence[str] = (),
        context: Context | None = None,
    ) -> None:
        super().__init__(context=context)
        self.pipeline, self.what, self.to_log, self.webhook, self.email = (
            pipeline,
            what,
            to_log,
            webhook,
            list(email),
        )

    def notify(self, context: Context) -> None:
        """Of a task, in its own process."""
        notice = self._notice(context)
        for channel in self._channels(notice):
            try:
                channel.notify(context)
            except Exception as error:  # noqa: BLE001 - a mail server that is down must not keep the webhook from being told
                self._tell_of(channel, error)

    async def async_notify(self, context: Context) -> None:
        """Of a deadline, in the triggerer: a callback that the executor runs may read no connection of
        Airflow's database.
        """
        notice = self._notice(context)
        for channel in self._channels(notice):
            try:
                await channel.async_notify(context)
            except Exception as error:  # noqa: BLE001 - as above
                self._tell_of(channel, error)

    def _notice(self, context: Context) -> dict[str, Any]:
        notice = make_notice(self.pipeline, self.what, context)
        if self.to_log:
            self.log.error("%s", notice["text"])
        return notice

    def _channels(self, notice: dict[str, Any]) -> Iterator[BaseNotifier]:
        if self.webhook:
            from airflow.providers.http.notifications.http import HttpNotifier

            yield HttpNotifier(
                http_conn_id=self.webhook, json=notice, headers={"Content-Type": "application/json"}
            )
        if self.email:
            from airflow.providers.smtp.notifications.smtp import SmtpNotifier

            yield SmtpNotifier(
                to=self.email,
                subject=notice["subject"],
                html_content=f"<pre>{html.escape(notice['text'])}</pre>",
            )

    def _tell_of(self, channel: BaseNotifier, error: Exception) -> None:
        self.log.error(
            "the notice could not be sent: %s: %s: %s", type(channel).__name__, type(error).__name__, error
        )


def make_notice(pipeline: str, what: str, context: Context) -> dict[str, Any]:
    """The notice as data, `text` for a person."""
    instance: Any = context.get("ti")
    exception: Any = context.get("exception")
    deadline_run: Any = {} if instance else context.get("dag_run") or {}
    result = getattr(exception, "result", None) or {}
    failed = [table for table in result.get("tables", []) if table.get("state") == "failed"]
    blocked = result.get("blocked") or getattr(context.get("task"), "blocked", [])
    facts = {
        "pipeline": pipeline,
        "what": what,
        "task": instance.task_id if instance else None,
        "run": instance.run_id if instance else deadline_run.get("dag_run_id"),
        "tables": [entry["table"] for entry in [*blocked, *failed]],
        "rules": [rule for entry in blocked for rule in entry["rules"]],
        "rows_blocked": sum(entry["rows"] for entry in blocked),
        "message": str(exception)[:LONGEST] if exception else "",
        "link": getattr(instance, "log_url", None),
        "report": result.get("report"),
    }
    lines = [
        f"{pipeline}: {what}",
        *(
            f"{name}: {_text(value)}"
            for name, value in facts.items()
            if value and name not in ("pipeline", "what")
        ),
    ]
    return {"subject": lines[0], **facts, "text": "\n".join(lines)}


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
