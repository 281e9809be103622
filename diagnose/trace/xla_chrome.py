"""Chrome traces that TensorFlow's and JAX's profilers write (`*.trace.json.gz`), translated while
they are read: their events have no category, and their processes are called as planes are
(`diagnose.trace.xla_events`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from diagnose.trace.decode import Event
from diagnose.trace.xla_events import Place, Timed, Translation

_PLANE = re.compile(r"/device:(?:GPU|TPU):\d{1,9}|/host:CPU")
_TOLD = ("correlation_id", "hlo_module", "hlo_op", "memcpy_details", "name", "step_num", "tf_op")


class XlaChrome:
    """``translation``: None in a trace of another profiler, whose events are left as they are. The names of
    processes and threads stand before the events.
    """

    def __init__(self) -> None:
        self.translation: Translation | None = None
        self._planes: dict[Any, str] = {}
        self._threads: dict[tuple[Any, Any], str] = {}

    def translated(self, batch: list[Event]) -> list[Event]:
        for event in batch:
            if event.ph == "M" and event.args:
                self._name(event, str(event.args.name))
        if self.translation is None:
            return batch
        return list(self._translated(batch, self.translation))

    def last(self) -> list[Event]:
        return list(self.translation.last()) if self.translation else []

    def _name(self, event: Event, name: str) -> None:
        if event.name == "thread_name":
            self._threads[event.pid, event.tid] = name
        elif event.name == "process_name" and (plane := _PLANE.search(name)):
            self._planes[event.pid] = plane[0]
            self.translation = self.translation or Translation()

    def _translated(self, batch: list[Event], translation: Translation) -> Iterator[Event]:
        for event in batch:
            plane = self._planes.get(event.pid)
            if plane is None or event.ph != "X":
                yield event
                continue
            place = Place(plane, event.pid, self._threads.get((event.pid, event.tid), ""), event.tid)
            yield from translation.event(place, Timed(event.name or "", event.ts, event.dur, _told(event)))


def _told(event: Event) -> dict[str, Any]:
    """Texts, as that writer has all values."""
    values = ((name, getattr(event.args, name)) for name in _TOLD) if event.args else ()
    return {name: value for name, value in values if value is not None}
