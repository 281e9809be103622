"""Gauges of a run that is being watched, to an OpenTelemetry collector, meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable

from diagnose.watched.following import EVERY_S
from diagnose.watched.log import Window

_ENDS_WITHIN_S = 5.0

_GAUGES: dict[str, tuple[str, str, Callable[[Window], float | None]]] = {
    "step.duration": ("s", "The average step.", lambda window: window.mean_ms / 1000),
    "samples.rate": ("{sample}/s", "Samples a second of one process.", lambda window: window.samples_per_s),
    "input_wait.ratio": ("1", "Of the step: waiting for batches.", lambda window: window.input_share),
    "lost.ratio": (
        "1",
        "Of the time: what slow steps took beyond usual ones.",
        lambda window: window.lost_share,
    ),
    "memory.usage": ("By", "Memory in use.", lambda window: window.memory_bytes),
    "step.count": ("{step}", "Steps until now.", lambda window: window.first + window.steps),
}


class LiveGauges:
    """`diagnose.watched.…`, by OTLP over HTTP every ten seconds, from a thread of its own. What a collector
    does not take is lost, and nothing is said of it: the report, sent at the end, says so.
    """

    def __init__(self, target: str) -> None:
        """Raises ModuleNotFoundError without opentelemetry-exporter-otlp-proto-http."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(), EVERY_S * 1000)
        self._provider = MeterProvider([reader], shutdown_on_exit=False)
        meter = self._provider.get_meter("torch-diagnose")
        self._gauges = {
            name: meter.create_gauge(f"diagnose.watched.{name}", unit, description)
            for name, (unit, description, _) in _GAUGES.items()
        }
        self._target = target

    def take(self, rank: int, window: Window) -> None:
        attributes = {"diagnose.target": self._target, "diagnose.rank": rank}
        for name, (_, _, value_of) in _GAUGES.items():
            value = value_of(window)
            if value is not None:
                self._gauges[name].set(value, attributes)

    def close(self) -> None:
        self._provider.shutdown(timeout_millis=1000 * _ENDS_WITHIN_S)
