"""Damaged trace files: every event that is whole is read, one by one, and what was lost is told.

A profiler that died leaves a file without its end; a full disk leaves one cut anywhere; some writers
leave invalid UTF-8, NaN, trailing commas or stray backslashes. The file is split between events (a ``}``
and a ``{"`` that follow each other cannot occur inside a JSON string, where quotes are escaped), so
damage costs no more than the event it is in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from diagnose.trace.decode import (
    DECODE_ERRORS,
    Event,
    TraceFile,
    decode_event,
    decode_file,
    decode_without_args,
    is_list,
)

EVENTS_START = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN_EVENTS = re.compile(rb'(?<=\})(?:\s*,)?\s*(?=\{\s*"|\{\s*\})')
LIST_START = re.compile(rb"\s*\[")
_MAX_TAIL = 2**24  # what follows the last event is small; a file without borders between events is no trace

_CONTROL = re.compile(rb"[\x00-\x1f]")
# What is wrong, its pattern, its replacement: applied only to an event that cannot be decoded as it is.
_REPAIRS: tuple[tuple[str, re.Pattern[bytes] | None, bytes | Callable[[re.Match[bytes]], bytes]], ...] = (
    ("invalid UTF-8", None, b""),
    ("NaN or Infinity", re.compile(rb"(?<=[:\[,\s])-?(?:NaN|Infinity|nan|inf)(?=\s*[,\]}])"), b"null"),
    ("trailing commas", re.compile(rb",(?=\s*[\]}])"), b""),
    ("stray backslashes", re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})'), rb"\\\\"),
    (  # in texts: between them a line may end
        "control characters",
        re.compile(rb'"(?:[^"\\]|\\.)*"|[\x00-\x08\x0b\x0c\x0e-\x1f]', re.DOTALL),
        lambda match: _CONTROL.sub(b" ", match[0]),
    ),
)


class Damage(NamedTuple):
    """What was lost of a file: sentences on it, how many events, whether its end is missing."""

    sentences: tuple[str, ...] = ()
    lost: int = 0
    cut_off: bool = False


class Salvage:
    """All whole events of damaged parts of a file, and what was wrong with them or lost."""

    def __init__(self) -> None:
        self._wrong: Counter[str] = Counter()
        self._lost = 0

    def __add__(self, other: Salvage) -> Salvage:
        both = Salvage()
        both._wrong, both._lost = self._wrong + other._wrong, self._lost + other._lost
        return both

    def events(self, text: bytes | bytearray, decimals: bool) -> list[Event]:
        """Of a part that ends where an event does."""
        return self._whole(_BETWEEN_EVENTS.split(text), decimals)

    def file(self, data: bytes | bytearray, decimals: bool, before: int) -> tuple[TraceFile, Damage]:
        """The events of the end of a file, with its head before them, its top-level fields as far as they are
        whole, and what was lost of all of it.

        ``TraceFile.events`` is None where no list of events begins. ``before``: how many
        events of the file were read already.
        """
        start = LIST_START.match(data) if is_list(data) else EVENTS_START.search(data)
        if start is None:
            return TraceFile(), Damage()
        *pieces, last = _BETWEEN_EVENTS.split(data[start.end() :])
        events = self._whole(pieces, decimals)
        final, rest = _last_event(last, decimals, self._wrong)
        events.extend(final)
        file, ended = _top_level(bytes(data[: start.end()]), rest)
        file.events = events
        return file, self.damage(before + len(events), last if not final else b"", ended)

    def damage(self, kept: int, tail: bytes = b"", ended: bool = True) -> Damage:
        """``kept``: how many events of the file were read."""
        return Damage(
            tuple(_sentences(self._wrong, self._lost, kept, tail, ended)), self._lost, cut_off=not ended
        )

    def _whole(self, pieces: list[bytes], decimals: bool) -> list[Event]:
        found = [_event(piece, decimals, self._wrong) for piece in pieces]
        events = [event for event in found if event is not None]
        self._lost += len(found) - len(events)
        return events


def _event(text: bytes, decimals: bool, wrong: Counter[str]) -> Event | None:
    try:
        return decode_event(text, decimals)
    except DECODE_ERRORS:
        pass
    if event := _without_args(text, wrong):
        return event
    repaired = _repaired(text, wrong)
    try:
        return decode_event(repaired, decimals)
    except DECODE_ERRORS:
        return _without_args(repaired, wrong)


def _without_args(text: bytes, wrong: Counter[str]) -> Event | None:
    """The event if only its arguments are not as expected."""
    try:
        event = decode_without_args(text)
    except DECODE_ERRORS:
        return None
    wrong["arguments of an unknown form"] += 1
    return event


def _repaired(text: bytes, wrong: Counter[str]) -> bytes:
    for what, pattern, replacement in _REPAIRS:
        better = (
            text.decode("utf-8", "replace").encode() if pattern is None else pattern.sub(replacement, text)
        )
        if better != text:
            wrong[what] += 1
        text = better
    return text


def _last_event(text: bytes, decimals: bool, wrong: Counter[str]) -> tuple[list[Event], bytes]:
    """The last event (a list of one, or none) and the bytes behind it: the
    end of the file, if that was written.
    """
    readable = _repaired(text[:_MAX_TAIL], Counter())
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(readable.decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return [], text
    whole = readable.decode("utf-8", "replace").lstrip()
    event = _event(whole[:end].encode(), decimals, wrong)
    return ([event] if event is not None else []), whole[end:].encode()


def _top_level(head: bytes, rest: bytes) -> tuple[TraceFile, bool]:
    """The fields around the list of events, and whether the file's end is there."""
    if not head.lstrip().startswith(b"{"):
        return TraceFile(), rest.strip().startswith(b"]")
    for tail, ended in ((rest.lstrip(b", \t\r\n"), True), (b"]}", False)):
        try:
            return decode_file(_repaired(head + tail, Counter())), ended
        except DECODE_ERRORS:
            continue
    return TraceFile(), False


def _sentences(wrong: Counter[str], lost: int, kept: int, tail: bytes, ended: bool) -> list[str]:
    notes = [
        f"{count:,} event{'s' * (count != 1)} held {what}; that part was replaced or left out."
        for what, count in wrong.items()
    ]
    if lost:
        notes.append(f"{lost:,} of {kept + lost:,} events are damaged and were left out.")
    if not ended:
        loss = (
            f"; the last {len(tail):,} bytes, a part of one event, are lost"
            if tail.strip(b", \t\r\n]}")
            else ""
        )
        notes.append(
            f"The file has no end (the recording may have been cut off): {kept:,} whole events were "
            f"read{loss}."
        )
    return notes
