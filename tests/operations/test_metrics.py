"""Figures for monitoring systems, in Prometheus' text format and by OpenTelemetry to a
real collector's port.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from spark_jobs.lake.counts import Counts
from spark_jobs.operations.metrics import Sample, exporter, prometheus_text, samples_of
from spark_jobs.operations.status import PipelineStatus, TableStatus

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
ORDERS = TableStatus(
    table="silver.orders",
    state="due",
    version=7,
    last_batch_at=NOW - timedelta(seconds=90),
    last_rows=1000,
    last_published=990,
    seconds=2.5,
    rows_per_second=400.0,
    lag_seconds=4.25,
    backlog_files=3,
    backlog_bytes=4096,
    backlog_messages=12,
    max_partition_lag=8,
    watermark=None,
    state_rows=None,
    state_bytes=None,
    totals=Counts(rows_in=1000, inserted=990, quarantined=10),
)
SHOP = PipelineStatus(
    "shop", NOW, None, None, {"run_id": "r", "at": NOW, "status": "ok", "message": ""}, (ORDERS,)
)


def test_figures_are_prometheus_text_with_what_they_mean() -> None:
    text = prometheus_text(samples_of(SHOP))

    assert (
        '# TYPE weir_batch_lag_seconds gauge\nweir_batch_lag_seconds{pipeline="shop",table="silver.orders"}'
        " 4.25\n" in text
    )
    assert 'weir_rows{pipeline="shop",table="silver.orders",class="quarantined"} 10\n' in text
    assert 'weir_batch_age_seconds{pipeline="shop",table="silver.orders"} 90\n' in text
    assert 'weir_last_run_ok{pipeline="shop"} 1\n' in text
    assert 'weir_backlog_messages{pipeline="shop",table="silver.orders"} 12\n' in text
    assert 'weir_max_partition_lag_messages{pipeline="shop",table="silver.orders"} 8\n' in text
    assert all(
        re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+\{(\w+="[\w.]+",?)+\} -?[\d.e+]+', line)
        for line in text.splitlines()
    )


def test_what_is_not_known_is_left_out() -> None:
    text = prometheus_text(samples_of(replace(SHOP, last_run=None)))

    assert "weir_state_rows" not in text
    assert "weir_watermark" not in text
    assert "weir_last_run" not in text


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportMetricsServiceRequest]]]:
    """A collector that keeps what it gets."""
    got: list[ExportMetricsServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/metrics"
            got.append(
                ExportMetricsServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *values: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()


def test_the_same_figures_reach_a_collector_of_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as (address, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        with exporter("shop") as export:
            export(lambda: samples_of(SHOP))

    resource = got[0].resource_metrics[0]
    metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    named = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
    (point,) = metrics["weir_batch_lag_seconds"].gauge.data_points
    assert (named["service.name"], named["weir.pipeline"]) == ("weir", "shop")
    assert point.as_double == 4.25
    assert {label.key: label.value.string_value for label in point.attributes} == {
        "pipeline": "shop",
        "table": "silver.orders",
    }
    assert len(metrics["weir_rows"].gauge.data_points) == 10


def test_where_no_collector_is_named_nobody_looks_for_figures() -> None:
    with exporter("shop", {}) as export:
        export(lambda: pytest.fail("they are not sent anywhere"))


def test_neither_a_collector_that_is_not_there_nor_figures_that_cannot_be_had_fail_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")

    def broken() -> Iterator[Sample]:
        raise OSError("the disk is gone")

    with exporter("shop") as export:
        export(lambda: samples_of(SHOP))
        export(broken)

    assert "warning: figures could not be sent: OSError" in capsys.readouterr().err
