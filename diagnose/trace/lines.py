"""The user's own line behind each host event.

In order of trust: the innermost of the recorder's marks and of the calls it saw the user's lines make (both
name the exact line); the innermost Python frame outside libraries (its definition line: all that torch
records); the ``Call stack`` text of torch 1.9 to 1.13.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagnose.trace.nesting import innermost, order
from diagnose.trace.quirks import FRAME, LIBRARY_PATH, LIBRARY_ROOT, MARK

Rows = NDArray[np.int64]


class Place(NamedTuple):
    """A source line; the default means unknown."""

    file: str = ""
    line: int = -1
    function: str = ""


class Mark(NamedTuple):
    """A recorder's mark taken apart: its kind, the tick's number (-1 for other kinds), its place,
    and the library function on the way.
    """

    kind: str
    number: int
    place: Place
    via: str = ""


class Calls(NamedTuple):
    """Calls made by the user's own lines: times in ns from the trace's
    start, thread numbers of the host table.
    """

    start: Rows = np.zeros(0, dtype=np.int64)
    dur: Rows = np.zeros(0, dtype=np.int64)
    thread: Rows = np.zeros(0, dtype=np.int64)
    places: Sequence[Place] = ()


def parse_mark(name: str) -> Mark | None:
    """The mark an event name holds (see docs/architecture.md, "Marks"); None for any other name."""
    if not name.startswith(MARK):
        return None
    kind, *rest = name[len(MARK) :].split("|")
    if kind == "tick":
        return Mark(kind, _number(rest[0]) if rest else -1, Place())
    via = rest.pop() if len(rest) > 3 and ":" in rest[-1] else ""
    if len(rest) < 3 or _number(rest[-2]) < 0:
        return Mark(kind, -1, Place(), via)
    return Mark(kind, -1, Place("|".join(rest[:-2]), _number(rest[-2]), rest[-1]), via)


def _number(text: str) -> int:
    """The number in at most nine digits, which is what a line number's column holds; -1 for anything else."""
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def frame_place(name: str) -> Place:
    """The place of a Python frame in the user's own code; unknown for library code and anything else."""
    match = FRAME.fullmatch(name)
    if match is None or LIBRARY_PATH.search(match["file"]) or _number(match["line"]) < 0:
        return Place()
    root = match["file"].replace("\\", "/").split("/")[0].removesuffix(".py")
    if LIBRARY_ROOT.fullmatch(root):
        return Place()
    return Place(match["file"], int(match["line"]), match["function"])


def stack_place(stack: str) -> Place:
    """The innermost frame of the user's own code in a ``Call stack`` text
    (innermost first, separated by ";").
    """
    return next((place for frame in stack.split(";") if (place := frame_place(frame)) != Place()), Place())


def read_calls(path: Path, origin_ns: int, threads: Mapping[int, int]) -> Calls:
    """The calls of a detail.calls.json on threads the trace knows; raises
    ValueError or OSError if it is unreadable.
    """
    data = json.loads(path.read_bytes())
    try:
        columns = {
            name: np.array(data[name], dtype=np.int64)
            for name in ("file", "line", "function", "start_ns", "dur_ns", "tid")
        }
        thread = np.array([threads.get(tid, -1) for tid in columns["tid"].tolist()], dtype=np.int64)
        places = [
            Place(data["files"][file], line, data["functions"][function])
            for file, line, function in zip(
                columns["file"].tolist(), columns["line"].tolist(), columns["function"].tolist(), strict=True
            )
        ]
        calls = Calls(columns["start_ns"] - origin_ns, columns["dur_ns"], thread, places)
        known = np.flatnonzero(calls.thread >= 0)
        return Calls(
            calls.start[known], calls.dur[known], calls.thread[known], [places[i] for i in known.tolist()]
        )
    except (KeyError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(f"{path.name} lacks or misuses {error}") from error


class Candidates(NamedTuple):
    """A place number for each row, -1 if none: from the mark or Python frame
    the row is, and from its stack text.
    """

    mark: Rows
    frame: Rows
    stack: Rows


def find_lines(
    start: Rows, dur: Rows, thread: Rows, own: Candidates, calls: Calls, call_place: Rows
) -> tuple[Rows, dict[str, int]]:
    """The place number of each row (-1 if unknown), and how many rows got theirs from which source.

    ``call_place`` are the place numbers of ``calls``. Rows are in order of start, longer first.
    """
    ranges = (
        np.concatenate((calls.start, start)),
        np.concatenate((calls.dur, dur)),
        np.concatenate((calls.thread, thread)),
    )
    exact = np.concatenate((call_place, own.mark))
    around = _enclosing(*ranges, exact >= 0)[len(calls.start) :]
    frame = _enclosing(start, dur, thread, own.frame >= 0)
    sources = {
        "mark": np.where(around >= len(calls.start), exact[around], -1),
        "call": np.where((around >= 0) & (around < len(calls.start)), exact[around], -1),
        "python frame": np.where(frame >= 0, own.frame[frame], -1),
        "call stack": own.stack,
    }
    place = np.full(len(start), -1, dtype=np.int64)
    counts = {}
    for source, found in sources.items():
        decides = (place < 0) & (found >= 0)
        place[decides] = found[decides]
        if decides.any():
            counts[source] = int(decides.sum())
    return place, counts


def _enclosing(start: Rows, dur: Rows, thread: Rows, is_range: NDArray[np.bool_]) -> Rows:
    """For each row, in any order, itself if it is a range, else the innermost range around it; -1 if none."""
    if not is_range.any():
        return np.full(len(start), -1, dtype=np.int64)
    by_start = order(start, dur)
    around = innermost(start[by_start], dur[by_start], is_range[by_start], thread[by_start])
    result = np.empty(len(start), dtype=np.int64)
    result[by_start] = np.where(around >= 0, by_start[around], -1)
    return np.where(is_range, np.arange(len(start)), result)


def numbered(places: Sequence[Place], table: dict[Place, int]) -> Rows:
    """The number of each place in the table, which grows as needed; -1 for unknown places."""
    return np.array(
        [table.setdefault(place, len(table)) if place.file else -1 for place in places], dtype=np.int64
    )
