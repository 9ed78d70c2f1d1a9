"""A DAG whose task waits in a child of its own, as `weir` would, and writes down every signal that reaches
the child.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseOperator

SIGNALS = Path(os.environ["WEIR_HOME"], "signals")
CHILD = f"""
import os, signal
def note(number, frame):
    with open({str(SIGNALS)!r}, "a") as file:
        file.write(f"{{number}} ")
signal.signal(signal.SIGTERM, note)
open({str(SIGNALS)!r}, "w").close()
signal.pause()
"""


class Busy(BaseOperator):
    """Hands the signal on to its child once, and waits for it."""

    def execute(self, context: Any) -> None:
        self._child = subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True)
        raise SystemExit(self._child.wait() or 1)

    def on_kill(self) -> None:
        os.killpg(self._child.pid, signal.SIGTERM)


dag = DAG("busy", schedule=None, is_paused_upon_creation=False)
Busy(task_id="wait", dag=dag)
