"""A trace file's events, a batch at a time: the stream of its bytes is cut between events.

Only where a cut lies needs care, since braces also stand inside text and arguments. A batch that
decodes proves its cut right: JSON closes a list only where the list ends. One that does not decode
is decoded again with what follows. One that does not although it is large is damaged.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from diagnose.trace.clock import needs_decimals
from diagnose.trace.decode import DECODE_ERRORS, Event, TraceFile, decode_events, decode_file, is_list
from diagnose.trace.repair import EVENTS_START, LIST_START, Damage, Salvage

# what is decoded of it stays in the processor's cache: with 16 MB, decoding takes a third longer
BATCH_BYTES = 2**20
DAMAGED_BYTES = 2**24
_BETWEEN_EVENTS = re.compile(rb'\}\s*,\s*(?=\{\s*")')
_LOOK_BACK = (2**14, 2**19)  # where the last border is looked for, bytes from the end
# events whose times tell whether a batch has more digits than doubles: a quarter of such times look whole
_SAMPLE = 256
_OPEN, _CLOSE = b"[", ord("]")


class Events:
    """The events of a trace, and once they are read, the file's top level and what was lost."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.file = TraceFile()
        self.damage = Damage()
        self.waiting = 0  # bytes that are read and not decoded
        self._blocks = blocks
        self._decimals = False  # doubles would round the times (see `clock`)
        self._count = 0
        self._salvage = Salvage()

    def batches(self) -> Iterator[list[Event]]:
        """All events in the file's order. `file.events` is None afterwards if there was no list of events."""
        head, rest = b"", bytearray()
        enough = BATCH_BYTES
        for block in self._blocks:
            rest += block
            self.waiting = len(rest)
            if len(rest) < enough:
                continue
            if not head:
                head, rest = _parted(rest)
            border = _last_border(rest) if head else None
            events = self._decoded(rest, border) if border else None
            if events is None and border is not None and len(rest) >= DAMAGED_BYTES:
                events = self._salvaged(rest[1 : border.start() + 1])
            if events is None or border is None:
                enough = 2 * len(rest)
                continue
            rest = bytearray(_OPEN) + rest[border.end() :]
            enough = BATCH_BYTES
            yield events
        yield self._last(head + rest[1:] if head else bytes(rest))

    def _decoded(self, text: bytearray, border: re.Match[bytes]) -> list[Event] | None:
        """The events before the border; None if they cannot be decoded."""
        after = text[border.start() + 1]
        text[border.start() + 1] = _CLOSE
        batch = memoryview(text)[: border.start() + 2]
        try:
            events = decode_events(batch, self._decimals)
            if self._must_decode_again(events):
                events = decode_events(batch, decimals=True)
        except DECODE_ERRORS:
            text[border.start() + 1] = after
            return None
        self._count += len(events)
        return events

    def _salvaged(self, text: bytearray) -> list[Event]:
        """The whole events of a damaged part."""
        salvage = Salvage()
        events = salvage.events(text, self._decimals)
        if self._must_decode_again(events):
            salvage = Salvage()
            events = salvage.events(text, decimals=True)
        self._salvage += salvage
        self._count += len(events)
        return events

    def _last(self, text: bytes) -> list[Event]:
        """The events after the last cut: with the head of the file before them they are a whole file."""
        self.file, self.damage = self._file(text)
        if self._must_decode_again(self.file.events or []):
            self.file, self.damage = self._file(text)
        return self.file.events or []

    def _file(self, text: bytes) -> tuple[TraceFile, Damage]:
        try:
            file = decode_file(text, self._decimals)
        except DECODE_ERRORS:
            return (self._salvage + Salvage()).file(text, self._decimals, self._count)
        return file, self._salvage.damage(self._count + len(file.events or ()))

    def _must_decode_again(self, events: list[Event]) -> bool:
        some = events[:: len(events) // _SAMPLE + 1]
        if self._decimals or not needs_decimals([event.ts for event in some]):
            return False
        self._decimals = True
        return True


def _parted(text: bytearray) -> tuple[bytes, bytearray]:
    """The file up to the list of events, and what follows in a list of its own;
    no head if there is no such list yet.
    """
    start = LIST_START.match(text) if is_list(text) else EVENTS_START.search(text)
    if start is None:
        return b"", text
    return bytes(text[: start.end()]), bytearray(_OPEN) + text[start.end() :]


def _last_border(text: bytearray) -> re.Match[bytes] | None:
    """The last place that looks like one between two events."""
    for size in _LOOK_BACK:
        if last := deque(_BETWEEN_EVENTS.finditer(text, max(0, len(text) - size)), maxlen=1):
            return last[0]
    return None
