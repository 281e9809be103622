"""The wire format of protocol buffers, read without trusting it (https://protobuf.dev/programming-guides/encoding).

A message is a row of fields, each a number and a value. Nothing is looked into unasked, so nesting is as deep
as the caller's schema and no deeper.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5  # wire types; 3 and 4, groups, are of no use here
_LONGEST_VARINT, _LONGER = 10, 0x80  # bytes; what all but the last are at least
_SIGN, _ALL = 2**63, 2**64


class Damaged(ValueError):
    """These bytes are no message."""


class CutOff(Damaged):
    """A value reaches beyond the end. ``number``: of its field; ``rest``: what there is of it."""

    def __init__(self, number: int, rest: memoryview) -> None:
        super().__init__("the message ends within a value")
        self.number, self.rest = number, rest


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields in order: number and value, an unsigned integer or the bytes of what has a length (and of
    four or eight bytes).

    Raises Damaged, when it comes to that field.
    """
    at, end = 0, len(message)
    while at < end:
        if (key := message[at]) < _LONGER:  # most are that short: reading goes twice as fast without a call
            at += 1
        else:
            key, at = _varint(message, at, end)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at, end)
            yield number, value
            continue
        if kind == _LENGTH:
            if at < end and (length := message[at]) < _LONGER:
                at += 1
            else:
                length, at = _varint(message, at, end)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise Damaged(f"field {number} is of no known kind")
        if length > end - at:
            raise CutOff(number, message[at:])
        yield number, message[at : at + length]
        at += length


def signed(value: int) -> int:
    """An int64, which is written as if it were unsigned."""
    return value - _ALL if value >= _SIGN else value


def double(value: memoryview) -> float:
    """Raises Damaged unless it is of eight bytes."""
    if len(value) != 8:
        raise Damaged("a number of another length than eight bytes")
    return float(struct.unpack("<d", value)[0])


def text(value: memoryview) -> str:
    return bytes(value).decode("utf-8", "replace")


def _varint(message: memoryview, at: int, end: int) -> tuple[int, int]:
    """The number, less than 2**64, and where it ends."""
    value = shift = 0
    for byte in message[at : min(at + _LONGEST_VARINT, end)]:
        at += 1
        if byte < _LONGER:
            return (value | byte << shift) % _ALL, at
        value |= (byte - _LONGER) << shift
        shift += 7
    raise Damaged("a number without an end")
