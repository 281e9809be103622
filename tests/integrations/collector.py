"""A collector of OpenTelemetry's, on this machine."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def listening() -> Iterator[tuple[str, list[bytes]]]:
    """Its endpoint, and the bodies of what it gets."""
    received: list[bytes] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/metrics"
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{collector.server_port}", received
        collector.shutdown()


def gauges(body: bytes, attribute: str) -> dict[str, dict[str | int, float]]:
    """What each gauge is, by an attribute of its points; by the empty text without it."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    def of(point: object) -> str | int:
        for tag in point.attributes:
            if tag.key == attribute:
                return tag.value.string_value or tag.value.int_value
        return ""

    return {
        metric.name: {of(point): point.as_double or point.as_int for point in metric.gauge.data_points}
        for scope in ExportMetricsServiceRequest.FromString(body).resource_metrics[0].scope_metrics
        for metric in scope.metrics
    }
