"""Every Spark setting that Weir makes, in one place. A run takes the small or the big set by the size of its
work.

Small runs are all start-up, planning and commits: no code generation, the quick compiler only, one partition.
Big loads are the opposite. An always-on stream does small runs, and lives long enough for Java's better
compiler.
"""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.spark_settings import CUTS_PLANS
from spark_jobs.session.hosts import Hosts


class Workload(StrEnum):
    SMALL = "small"
    BIG = "big"
    STANDING = "standing"


CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"
# Spark's `upper` and `lower` go by the language of the machine: in Turkish an i becomes İ
SAME_EVERYWHERE = ("-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US")
# XPath calls itself for each element within another: a value of some thousand would end the JVM. What is
# nested deeper than JSON may be fails on its row.
BOUNDED = ("-Djdk.xml.maxElementDepth=1000",)
ALWAYS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.v2.enableMode": "NONE",  # the three jars suffice without the kernel's reader
    "spark.sql.session.timeZone": "UTC",
    # Else '${env:HOME}' in SQL is what the environment of the run has there: another value on another
    # machine, or a secret.
    "spark.sql.variable.substitute": "false",
    # Arrow cannot read years outside 1678 to 2262 from Spark's old INT96
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # readers outside Spark do not all know them
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    # Delta writes the files of a version into its checksum, where nobody reads them; a job looks for those of
    # one that has none there.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
    # Small files are put together, now and then (run/context.py); those of a load, each a span of event time,
    # are left as they are: a late row then reads only its own.
    "spark.databricks.delta.autoCompact.minFileSize": str(1024 * 1024),
    "spark.databricks.delta.autoCompact.maxFileSize": str(16 * 1024 * 1024),
    "spark.databricks.delta.autoCompact.minNumFiles": "2",
    # A batch that a crash cut is done again from the versions it began with, however long ago that was.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # The size of a row group is looked at after a hundred rows, if not told otherwise: with long records that
    # is more than the heap.
    "spark.hadoop.parquet.page.size.row.check.min": "4",
    # A path is one of this machine's, or of a folder that hosts share, for Spark as for Python, whatever
    # HADOOP_CONF_DIR says.
    "spark.hadoop.fs.defaultFS": "file:///",
    # Else PySpark tells the JVM the Python line of every expression: nine calls for each, two thirds of the
    # time of making a plan.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Every user of the machine can reach loopback. For a local master Spark makes a secret of its own, which
    # stands nowhere.
    "spark.authenticate": "true",
    # Spark's choice for folders starts `readlink` and `chmod` for every file of a checkpoint: 300 processes
    # in a small run. What it is better at, keeping a second writer out, the lease does.
    "spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
}
S3 = {
    # Hadoop's new default reads ahead, for few large objects.
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
    "spark.sql.streaming.checkpointFileManagerClass": LOCAL["spark.sql.streaming.checkpointFileManagerClass"],
}
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # else it is a share of the heap, many MB, for every sort, hash map and broadcast of a few rows
    "spark.buffer.pageSize": "1m",
    "spark.sql.ui.explainMode": "simple",  # the plan of every query is written out for a UI that is off
}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""What a batch of a small run takes instead where it reads a large table: compiling its plans takes a second
or two, and without it each row that is read costs many times as much.
"""
MANY_ROWS = 200_000
"""A table with more rows is large in that sense."""
BIG = {
    "spark.sql.adaptive.enabled": "true",
    "spark.databricks.delta.snapshotPartitions": "2",
    # a batch is kept for a few looks: packing it takes longer than it saves
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
# The quick compiler alone gets 48 MB for its code, and a twelfth of a run's CPU time goes into sweeping them.
# Classes get 21 MB until the whole heap is collected for their sake: five times in a cold run.
SMALL_JVM = [
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:-UseCodeCacheFlushing",
    "-XX:+UseSerialGC",
]
SMALL_JVM += ["-XX:MetaspaceSize=256m"]
BIG_JVM = ["-XX:+UseParallelGC"]
JVM = {Workload.SMALL: SMALL_JVM, Workload.BIG: BIG_JVM, Workload.STANDING: SMALL_JVM[1:]}

WORKLOAD = "spark.sql.weir.workload"
"""By which of the sets a session was made: Spark keeps it, and the run says it."""

PER_BATCH = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
"""A query takes these from its checkpoint, as they were at its first run: each batch sets them again."""


WHERE_THE_STORE_IS = ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ALLOW_HTTP")
"""What Python elsewhere is told, which reads landed files: never keys, which anybody could see who may see
the cluster's applications.
"""


def spark_settings(
    profile: Profile,
    workload: Workload,
    cores: int,
    jars: Path,
    archive: Path,
    log4j: Path,
    log_file: Path,
    record: str | None = None,
    more_jars: Sequence[Path] = (),
    storage: Mapping[str, str] | None = None,
    hosts: Hosts | None = None,
) -> dict[str, str]:
    """The settings of one run; those of the profile win. `more_jars` are for what the pipeline needs beside
    Delta: Spark ships them to the executors by itself; `storage` are the settings of where the lake and the
    landing zone are, `hosts` what executors elsewhere find.
    """
    small = workload is not Workload.BIG
    jvm = [
        *JVM[workload],
        f"-Dlog4j2.configurationFile={log4j}",
        f"-Dweir.log={log_file}",
        *SAME_EVERYWHERE,
        *BOUNDED,
    ]
    # Hadoop starts a process for each file that it makes in a folder
    jvm += ["-Djdk.lang.Process.launchMechanism=VFORK"]
    # a thread of Spark's dies of it and the rest waits for ever, with the lease held
    jvm += ["-XX:+ExitOnOutOfMemoryError"]
    if record:
        jvm += [f"-XX:ArchiveClassesAtExit={record}"]
    elif archive.is_file():
        jvm += [f"-XX:SharedArchiveFile={archive}"]
    settings = {
        **ALWAYS,
        WORKLOAD: workload.value,
        **(LOCAL if profile.is_local else _executors(workload, hosts) if hosts else {}),
        **(SMALL if small else {**BIG, "spark.sql.shuffle.partitions": str(cores)}),
        **(storage or {}),
        "spark.master": profile.master,
        "spark.driver.memory": profile.driver_memory,
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.extraJavaOptions": " ".join(f'"{option}"' for option in jvm),
    }
    if small and profile.is_local:
        settings[CUTS_PLANS] = "true"
    if profile.event_log:
        settings |= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": event_log_folder(log_file.parents[1]).as_uri(),
        }
    if more_jars:
        settings["spark.jars"] = ",".join(str(jar) for jar in more_jars)
    return settings | {name: str(value) for name, value in profile.spark.items()}


def storage_settings(roots: Sequence[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """S3A reads its keys from the environment, or has those of the machine's role; where the store is, it is
    told here.
    """
    if not any(root.startswith("s3a://") for root in roots):
        return {}
    endpoint, region = (
        environ.get("AWS_ENDPOINT_URL"),
        environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"),
    )
    settings = dict(S3)
    if endpoint:
        settings |= {
            "spark.hadoop.fs.s3a.endpoint": endpoint,
            "spark.hadoop.fs.s3a.path.style.access": "true",
        }
    if region or endpoint:
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region or "us-east-1"
    return settings | {
        f"spark.executorEnv.{name}": environ[name] for name in WHERE_THE_STORE_IS if environ.get(name)
    }


def event_log_folder(logs: Path) -> Path:
    """Where Spark's event logs are, beside the logs of runs; Spark wants it to be there."""
    folder = logs.absolute() / "spark-events"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _executors(workload: Workload, hosts: Hosts) -> dict[str, str]:
    """Their log, without values of rows, stands in their folder or where the cluster collects it."""
    jvm = [*JVM[workload], *SAME_EVERYWHERE, *BOUNDED, f"-Dlog4j2.configurationFile={hosts.log4j}"]
    jvm += [f"-Dweir.log={hosts.log}"]
    options = " ".join(f'"{option}"' for option in jvm)
    return {
        **hosts.settings,
        "spark.executor.extraClassPath": f"{hosts.jars}/*",
        "spark.executor.extraJavaOptions": options,
    }
