"""The state of pipelines as figures for a monitoring system: Prometheus' text, or sent by OpenTelemetry."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.lake.counts import CLASSES
from spark_jobs.operations.status import PipelineStatus, TableStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Sample:
    """One figure. Its labels are names of pipelines and tables, which are letters, digits, _ and dots:
    nothing to escape.
    """

    name: str
    help: str
    kind: str
    labels: dict[str, str]
    value: float


def samples_of(status: PipelineStatus) -> Iterator[Sample]:
    """The figures of one pipeline; what is not known is left out."""
    pipeline = {"pipeline": status.pipeline}
    yield Sample(
        "weir_stream_up",
        "Whether an always-on stream of the pipeline is running.",
        "gauge",
        pipeline,
        float(status.stream is not None),
    )
    if status.last_run:
        ended_at: datetime = status.last_run["at"]
        yield Sample(
            "weir_last_run_timestamp_seconds",
            "When the last run ended.",
            "gauge",
            pipeline,
            ended_at.timestamp(),
        )
        is_ok = float(status.last_run["status"] in ("ok", "nothing_to_do", "stopped"))
        yield Sample("weir_last_run_ok", "Whether the last run ended well.", "gauge", pipeline, is_ok)
    for table in status.tables:
        yield from _samples_of_table({**pipeline, "table": table.table}, table, status.at)


def _samples_of_table(labels: dict[str, str], table: TableStatus, at: datetime) -> Iterator[Sample]:
    age = (at - table.last_batch_at).total_seconds() if table.last_batch_at else None
    gauges = {
        "weir_table_due": (
            "Whether there is something that the table has not read yet.",
            float(table.state in ("due", "failed")),
        ),
        "weir_table_blocked": ("Whether rules block a batch of the table.", float(table.state == "blocked")),
        "weir_batch_age_seconds": ("Seconds since the last batch.", age),
        "weir_batch_rows": ("Rows that the last batch read.", table.last_rows),
        "weir_batch_seconds": ("Seconds that the last batch took.", table.seconds),
        "weir_batch_lag_seconds": (
            "How long the oldest input of the last batch had waited when it was published.",
            table.lag_seconds,
        ),
        "weir_backlog_files": ("Files left to read after the last batch.", table.backlog_files),
        "weir_backlog_bytes": ("Bytes left to read after the last batch.", table.backlog_bytes),
        "weir_backlog_messages": (
            "Messages of a topic left to read after the last batch.",
            table.backlog_messages,
        ),
        "weir_max_partition_lag_messages": (
            "Of them those of the partition that is furthest behind.",
            table.max_partition_lag,
        ),
        "weir_watermark_timestamp_seconds": (
            "The watermark.",
            table.watermark.timestamp() if table.watermark else None,
        ),
        "weir_state_rows": ("Rows in the state store.", table.state_rows),
        "weir_state_bytes": ("Memory of the state store.", table.state_bytes),
    }
    for name, (text, value) in gauges.items():
        if value is not None:
            yield Sample(name, text, "gauge", labels, float(value))
    totals = table.totals.as_dict()
    # no counter: a row that leaves quarantine counts where it went
    for kind in ("rows_in", *CLASSES, "late"):
        yield Sample(
            "weir_rows",
            "Rows by what became of them, since the table was made.",
            "gauge",
            {**labels, "class": kind},
            float(totals[kind]),
        )


def prometheus_text(samples: Iterable[Sample]) -> str:
    """Samples of one name stand together, below what it means."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    lines: list[str] = []
    for name, group in by_name.items():
        lines += [f"# HELP {name} {group[0].help}", f"# TYPE {name} {group[0].kind}"]
        for sample in group:
            labels = ",".join(f'{label}="{value}"' for label, value in sample.labels.items())
            lines.append(f"{name}{{{labels}}} {sample.value:.15g}")
    return "\n".join(lines) + "\n"


# Sends figures by OpenTelemetry, where OTEL_EXPORTER_OTLP_ENDPOINT names a collector and the optional extra
# is installed.
#
# Where to send, with which headers and certificates is for OpenTelemetry's own variables to say.


ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
INSTALL = "uv pip install --python .envs/spark/bin/python --require-hashes -r requirements/telemetry.txt"
MILLISECONDS = 10_000
NEVER = 10**9

Export = Callable[[Callable[[], Iterable[Sample]]], None]
"""Given how figures are found, which is asked only where they are sent."""


@contextmanager
def exporter(pipeline: str, environ: Mapping[str, str] = os.environ) -> Iterator[Export]:
    """A function that sends samples now. A collector that does not answer fails nothing: monitoring must not
    stop the data.
    """
    if not any(environ.get(name) for name in ENDPOINTS):
        yield lambda find: None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
    except ImportError:
        print(
            f"warning: a collector is named, but OpenTelemetry is not installed: {INSTALL}", file=sys.stderr
        )
        yield lambda find: None
        return
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=NEVER)
    provider = MeterProvider(
        [reader], Resource.create({"service.name": "weir", "weir.pipeline": pipeline}), shutdown_on_exit=False
    )
    meter = provider.get_meter("weir")

    def export(find: Callable[[], Iterable[Sample]]) -> None:
        try:
            for sample in find():
                meter.create_gauge(sample.name, description=sample.help).set(sample.value, sample.labels)
            provider.force_flush(MILLISECONDS)
        except Exception as error:  # noqa: BLE001 - whatever it is, the tables are published
            print(f"warning: figures could not be sent: {type(error).__name__}", file=sys.stderr, flush=True)

    try:
        yield export
    finally:
        with suppress(Exception):  # it tries once more to send
            provider.shutdown(MILLISECONDS)
