"""Sends figures by OpenTelemetry, where OTEL_EXPORTER_OTLP_ENDPOINT names a collector and the optional extra is installed.

Where to send, with which headers and certificates is for OpenTelemetry's own variables to say.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from spark_jobs.operations.metrics import Sample

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
INSTALL = "uv pip install --python .envs/spark/bin/python --require-hashes -r requirements/telemetry.txt"
MILLISECONDS = 10_000
NEVER = 10**9

Export = Callable[[Iterable[Sample]], None]


@contextmanager
def exporter(pipeline: str, environ: Mapping[str, str] = os.environ) -> Iterator[Export]:
    """A function that sends samples now. A collector that does not answer fails nothing: monitoring must not stop the data."""
    if not any(environ.get(name) for name in ENDPOINTS):
        yield lambda samples: None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
    except ImportError:
        print(f"warning: a collector is named, but OpenTelemetry is not installed: {INSTALL}", file=sys.stderr)
        yield lambda samples: None
        return
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=NEVER)
    provider = MeterProvider([reader], Resource.create({"service.name": "weir", "weir.pipeline": pipeline}), shutdown_on_exit=False)
    meter = provider.get_meter("weir")

    def export(samples: Iterable[Sample]) -> None:
        for sample in samples:
            meter.create_gauge(sample.name, description=sample.help).set(sample.value, sample.labels)
        provider.force_flush(MILLISECONDS)

    try:
        yield export
    finally:
        provider.shutdown(MILLISECONDS)
