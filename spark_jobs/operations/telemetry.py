"""Sends figures by OpenTelemetry, where OTEL_EXPORTER_OTLP_ENDPOINT names a collector and the optional extra
is installed.

Where to send, with which headers and certificates is for OpenTelemetry's own variables to say.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from spark_jobs.operations.metrics import Sample

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
