"""Notices reach a real web server and a real mail server, and tell what a person on call must know."""

import json
import socketserver
from email import message_from_bytes, policy

import pytest

from service.demo.airflow import Airflow
from tests.airflow.conftest import run_inside
from tests.airflow.webhook import serving, webhook

pytestmark = pytest.mark.airflow


class Mailbox(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs to hand over a mail."""

    mails: list[bytes]

    def handle(self) -> None:
        self.wfile.write(b"220 test\r\n")
        while line := self.rfile.readline():
            command = line.split()[0].upper() if line.split() else b""
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                self.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 ok\r\n")
            if command == b"QUIT":
                return


def test_a_failure_and_a_missed_deadline_are_told_to_the_webhook_and_by_mail(airflow: Airflow) -> None:
    mails: list[bytes] = []
    post = socketserver.ThreadingTCPServer(("127.0.0.1", 0), type("Kept", (Mailbox,), {"mails": mails}))

    with webhook() as hook, serving(post) as mail_port:
        smtp = {"disable_ssl": True, "disable_tls": True, "from_email": "weir@example.com", "retry_limit": 1}
        connections = {
            "AIRFLOW_CONN_ALARM": json.dumps({"conn_type": "http", "host": hook.url}),
            "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps(
                {"conn_type": "smtp", "host": "127.0.0.1", "port": mail_port, "extra": smtp}
            ),
        }
        told = json.loads(run_inside(airflow, "send_notices.py", settings=connections))

    assert told["deadline"] == ["running", "success"]
    failure, deadline = hook.posted
    assert {
        name: failure[name] for name in ("pipeline", "task", "tables", "rules", "rows_blocked", "report")
    } == {
        "pipeline": "retail",
        "task": "run",
        "tables": ["silver.orders"],
        "rules": ["mean_amount"],
        "rows_blocked": 160,
        "report": "retail/r1.html",
    }
    assert failure["link"].endswith("/dags/retail/runs/manual__1/tasks/run")
    assert (deadline["what"], deadline["run"]) == ("a run is not done after 1 hour", "scheduled__2")
    first, second = (message_from_bytes(mail, policy=policy.default) for mail in mails)
    assert (first["Subject"], first["To"]) == ("retail: a task failed", "team@example.com")
    assert second["Subject"] == "retail: a run is not done after 1 hour"
    text = first.get_body(("html",)).get_content()  # type: ignore[union-attr]
    assert "mean_amount" in text
    assert "&lt;b&gt;held&lt;/b&gt;" in text, "nothing in a mail is markup"
    assert "rows_blocked: 160" in told["text"]
