"""`weir history`: Spark's history server over the event logs of runs, on loopback, until it is stopped."""

import os
from pathlib import Path

from spark_jobs.cli.ending import fail
from spark_jobs.config.loading import find_root
from spark_jobs.session.install import Installation
from spark_jobs.session.jars import ivy_jar
from spark_jobs.session.java import JavaMissing
from spark_jobs.session.settings import event_log_folder

SERVER = "org.apache.spark.deploy.history.HistoryServer"


def history_command(port: int) -> int:
    root = find_root()
    folder = event_log_folder(root / "logs")
    if not any(folder.iterdir()):
        return fail(
            f"{folder} is empty: run with a profile that has event_log: true, as in `weir run retail"
            " --profile observed`",
            3,
        )
    try:
        java = Installation(root).java()
    except JavaMissing as error:
        return fail(str(error), 1)
    settings = {"spark.history.fs.logDirectory": folder.as_uri(), "spark.history.ui.port": str(port)}
    log = root / "logs" / "history.log"
    command = [
        str(java.command),
        "-Xmx512m",
        f"-Dlog4j2.configurationFile={root / 'conf' / 'log4j2.properties'}",
        f"-Dweir.log={log}",
    ]
    command += [f"-D{name}={value}" for name, value in settings.items()]
    command += ["-cp", str(Path(ivy_jar()).parent / "*"), SERVER]
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    print(f"Spark's history: http://127.0.0.1:{port} (log: {log}); Ctrl-C ends it", flush=True)
    # becomes Java: no process in between that could end alone
    return os.execve(java.command, command, environ)
