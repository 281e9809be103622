"""Files of XLA's profiler, made up: messages XSpace written byte by byte, as a program of Google's would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Value = int | float | str


class Happened(NamedTuple):
    """An event, µs."""

    name: str
    start: float
    length: float
    told: Mapping[str, Value] = {}


Lines = Mapping[str, Sequence[Happened]]


def varint(value: int) -> bytes:
    value %= 2**64
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def part(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


class _Numbers(dict[str, int]):
    def __missing__(self, name: str) -> int:
        self[name] = len(self) + 1
        return self[name]

    def written(self, field: int) -> bytes:
        return b"".join(
            part(field, number(1, key) + part(2, number(1, key) + part(2, name)))
            for name, key in self.items()
        )


def plane(name: str, lines: Lines, told: Mapping[str, Value] = {}, since_ns: int = 1000) -> bytes:
    """A plane as a field of the file. ``since_ns``: when its lines begin."""
    events, values = _Numbers(), _Numbers()

    def of(field: int, told: Mapping[str, Value]) -> bytes:
        return b"".join(
            part(
                field,
                number(1, values[key])
                + (part(5, value) if isinstance(value, str) else number(4, int(value))),
            )
            for key, value in told.items()
        )

    def line(place: int, called: str, happened: Sequence[Happened]) -> bytes:
        return (
            number(1, place)
            + part(2, called)
            + number(3, since_ns)
            + b"".join(
                part(
                    4,
                    number(1, events[one.name])
                    + number(2, round(one.start * 1e6))
                    + number(3, round(one.length * 1e6))
                    + of(4, one.told),
                )
                for one in happened
            )
        )

    written = b"".join(part(3, line(place, *of_line)) for place, of_line in enumerate(lines.items(), 1))
    about = of(6, told)
    return part(1, number(1, 1) + part(2, name) + written + events.written(4) + values.written(5) + about)
