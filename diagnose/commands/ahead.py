"""What a report needs is imported while the script starts: this process only waits for it then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Timer

from diagnose.trace.collector import collector_at_rest

MODULES = (
    "diagnose.pipeline",
    "diagnose.report.terminal",
    "diagnose.report.timeline.timeline",
    "tensorboard.summary.writer.record_writer",
    "tensorboard.plugins.text.metadata",
)
AFTER_S = 0.3  # when the script's process has been started, and imports torch itself


@contextmanager
def imported_ahead() -> Iterator[None]:
    """While the script runs; afterwards none is half imported. An error is left to whoever imports the module
    again.
    """
    timer = Timer(AFTER_S, _import)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@collector_at_rest()
def _import() -> None:
    for module in MODULES:
        with suppress(Exception):
            import_module(module)
