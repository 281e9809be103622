"""Files of XLA's profiler (`*.xplane.pb`, message XSpace): planes of lines of events, as far as they are
whole.

The numbers of the fields are those of tsl/profiler/protobuf/xplane.proto
(https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto).
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import NamedTuple

from diagnose.trace.wire import CutOff, Damaged, double, fields, signed, text

Value = int | float | str
Told = dict[str, Value]
MOST_PARTS = 2**20  # planes of a file; lines, names of events and names of values of a plane

_PLANES = 1  # of XSpace
_NAME, _LINES, _EVENT_NAMES, _VALUE_NAMES, _OF_PLANE = 2, 3, 4, 5, 6  # of XPlane
_LINE_NAME, _TIMESTAMP_NS, _EVENTS, _SHOWN_NAME = 2, 3, 4, 11  # of XLine
_EVENT_ID, _OFFSET_PS, _LENGTH_PS, _OF_EVENT = 1, 2, 3, 4  # of XEvent
_VALUE_ID, _DOUBLE, _UNSIGNED, _SIGNED, _TEXT, _REFERENCE = 1, 2, 3, 4, 5, 7  # of XStat
_KEY, _ENTRY = 1, 2  # of an entry of a map


class TooMany(Damaged):
    """More parts than any recording has."""


class XEvent(NamedTuple):
    """``start_ps``: from the line's own time on."""

    name: str
    start_ps: int
    length_ps: int
    told: Told


class XSpace(NamedTuple):
    """``lost``: how many planes are damaged or cut, and so left out."""

    planes: list[XPlane]
    lost: int


def read_space(content: memoryview) -> XSpace:
    """The planes that are whole. Raises Damaged where there are more parts than any recording has."""
    planes: list[XPlane] = []
    lost = 0
    try:
        for number, value in fields(content):
            if number == _PLANES and isinstance(value, memoryview):
                try:
                    planes.append(XPlane(value))
                except TooMany:
                    raise
                except Damaged:
                    lost += 1
                _refuse_many(planes)
    except CutOff as cut:
        lost += cut.number == _PLANES
    except TooMany:
        raise
    except Damaged:
        lost += 1
    return XSpace(planes, lost)


class XPlane:
    """``name``: "/device:GPU:0", "/host:CPU" …; ``told``: of the device. Raises Damaged."""

    def __init__(self, message: memoryview) -> None:
        self.name = ""
        self.lines: list[XLine] = []
        self._events: dict[int, memoryview] = {}
        self._values: dict[int, str] = {}
        self._event_names: dict[int, str] = {}
        told, lines = [], []
        for number, value in fields(message):
            if not isinstance(value, memoryview):
                continue
            if number == _NAME:
                self.name = text(value)
            elif number == _LINES:
                lines.append(value)
            elif number == _EVENT_NAMES:
                key, entry = _entry(value)
                self._events[key] = entry
            elif number == _VALUE_NAMES:
                key, entry = _entry(value)
                self._values[key] = _name(entry)
            elif number == _OF_PLANE:
                told.append(value)
            _refuse_many(lines, told, self._events, self._values)
        self.told = self._told(told)
        self.lines = [XLine(line) for line in lines]

    @property
    def value_names(self) -> set[str]:
        return set(self._values.values())

    def events(self, line: XLine) -> Iterator[XEvent]:
        """In the file's order. Raises Damaged, when it comes to such an event."""
        for number, value in fields(line.message):
            if number == _EVENTS and isinstance(value, memoryview):
                yield self._event(value)

    def _event(self, message: memoryview) -> XEvent:
        event_id = start_ps = length_ps = 0
        told = []
        for number, value in fields(message):
            if isinstance(value, int):
                if number == _EVENT_ID:
                    event_id = value
                elif number == _OFFSET_PS:
                    start_ps = signed(value)
                elif number == _LENGTH_PS:
                    length_ps = signed(value)
            elif number == _OF_EVENT:
                told.append(value)
        return XEvent(self._event_name(event_id), start_ps, length_ps, self._told(told))

    def _event_name(self, event_id: int) -> str:
        name = self._event_names.get(event_id)
        if name is None:
            entry = self._events.get(event_id)
            name = self._event_names[event_id] = "" if entry is None else _name(entry)
        return name

    def _told(self, messages: list[memoryview]) -> Told:
        return dict(map(self._value, messages))

    def _value(self, message: memoryview) -> tuple[str, Value]:
        name = ""
        found: Value = 0
        for number, value in fields(message):
            if isinstance(value, int):
                if number == _VALUE_ID:
                    name = self._values.get(value, "")
                elif number == _REFERENCE:
                    found = self._values.get(value, "")
                elif number in (_UNSIGNED, _SIGNED):
                    found = value if number == _UNSIGNED else signed(value)
            elif number == _TEXT:
                found = text(value)
            elif number == _DOUBLE:
                found = double(value)
        return name, found


class XLine:
    """A thread or a stream. Raises Damaged."""

    def __init__(self, message: memoryview) -> None:
        self.message = message
        self.timestamp_ns = 0
        name = shown = ""
        for number, value in fields(message):
            if number == _EVENTS:
                continue
            if isinstance(value, int):
                self.timestamp_ns = signed(value) if number == _TIMESTAMP_NS else self.timestamp_ns
            elif number == _LINE_NAME:
                name = text(value)
            elif number == _SHOWN_NAME:
                shown = text(value)
        self.name = shown or name


def _entry(message: memoryview) -> tuple[int, memoryview]:
    """Of a map."""
    key, entry = 0, memoryview(b"")
    for number, value in fields(message):
        if number == _KEY and isinstance(value, int):
            key = value
        elif number == _ENTRY and isinstance(value, memoryview):
            entry = value
    return key, entry


def _name(message: memoryview) -> str:
    """Of the metadata of an event or a value."""
    return next(
        (text(value) for number, value in fields(message) if number == _NAME and not isinstance(value, int)),
        "",
    )


def _refuse_many(*parts: Sized) -> None:
    if any(len(part) > MOST_PARTS for part in parts):
        raise TooMany(f"more than {MOST_PARTS:,} parts of one kind")
