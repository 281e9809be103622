"""The HOST table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import categorical, integers, renumbered, table
from diagnose.trace.events import ANNOTATION, HOST_KIND_NAMES, MARK, OP, PYTHON, RUNTIME, HostColumns, Lane
from diagnose.trace.lines import (
    Calls,
    Candidates,
    Mark,
    Place,
    find_lines,
    frame_place,
    numbered,
    parse_mark,
    stack_place,
)
from diagnose.trace.nesting import inherited, innermost
from diagnose.trace.quirks import ANNOTATION_PREFIXES, BACKWARD_NODE, BACKWARD_ROOT, PROFILER_STEP
from diagnose.trace.schema import HOST, Track
from diagnose.trace.steps import Borders

Rows = NDArray[np.int64]
Codes = NDArray[Any]


class Host(NamedTuple):
    """The HOST table and what else of the host events the links and steps need, a value a row.

    ``correlation_is_external_id``: no call has a correlation. Some ROCm builds write it as External id.
    """

    table: pd.DataFrame
    parent: Rows
    external_id: Rows
    correlation_is_external_id: bool
    borders: Borders
    threads: dict[int, str]
    line_source: dict[str, int]


class Threads(NamedTuple):
    """The thread number of every host row, and of each number the recorded
    thread id and the track in the file.
    """

    row: Rows
    recorded: list[int]
    tracks: list[Track]


def number_threads(lane: Lane, columns: HostColumns) -> Threads:
    """Threads numbered in order of first appearance; a thread is a process id and a thread id as recorded.
    Where the process is not told, it is the only thread of that id.
    """
    tracks = list(columns.threads)
    recorded = integers([tid for _, tid in tracks])
    code, of_tid = np.arange(len(tracks)), dict[Any, list[int]]()
    for number, (pid, tid) in enumerate(tracks):
        if pid is not None:
            of_tid.setdefault(tid, []).append(number)
    for number, (pid, tid) in enumerate(tracks):
        if pid is None and len(same := of_tid.get(tid, [])) == 1:
            code[number] = same[0]
    row, distinct = renumbered(code[lane.take("thread")], len(recorded))
    return Threads(row, recorded[distinct].tolist(), [tracks[code] for code in distinct.tolist()])


def host_table(
    lane: Lane, columns: HostColumns, threads: Threads, thread_names: dict[tuple[Any, int], str], calls: Calls
) -> Host:
    """The HOST table of a lane of host events. ``thread_names``: see `Others`."""
    names = [name or "" for name in columns.names]
    name_code = lane.take("name")
    marks = [parse_mark(name) for name in names]
    kind = _kinds(lane.take("kind"), name_code, names, marks)
    parent = innermost(lane.start, lane.dur, np.isin(kind, (OP, ANNOTATION, MARK)), threads.row)
    places: dict[Place, int] = {}
    stack_places = [stack_place(stack or "") for stack in columns.stacks]
    own = _candidates(kind, name_code, names, marks, lane.take("stack"), stack_places, places)
    place, line_source = find_lines(
        lane.start, lane.dur, threads.row, own, calls, numbered(calls.places, places)
    )
    backward_name = np.array(
        [name.startswith(BACKWARD_ROOT) or bool(BACKWARD_NODE.search(name)) for name in names], dtype=bool
    )
    is_op = kind == OP
    external, correlation = lane.take("external"), lane.take("correlation")
    if correlation_is_external_id := not (correlation >= 0).any():
        correlation = np.where(kind == RUNTIME, external, -1)
    values = {
        "start_ns": lane.start,
        "dur_ns": lane.dur,
        "name": categorical(
            name_code, [mark.kind if mark else name for name, mark in zip(names, marks, strict=True)]
        ),
        "kind": categorical(kind, HOST_KIND_NAMES),
        "tid": threads.row,
        "correlation": correlation,
        "sequence": np.where(is_op, lane.take("sequence"), -1),
        "backward": inherited(is_op & backward_name[name_code], parent) & is_op,
        "parent": parent,
        **_place_columns(place, list(places)),
        "via": categorical(name_code, [mark.via if mark else "" for mark in marks]),
        "shapes": _json_text(lane.take("shapes"), is_op, columns.shapes),
        "dtypes": _json_text(lane.take("dtypes"), is_op, columns.dtypes),
    }
    names_of_threads = {
        number: thread_names.get((pid, tid)) or thread_names.get((None, tid), f"thread {tid}")
        for number, ((pid, _), tid) in enumerate(zip(threads.tracks, threads.recorded, strict=True))
    }
    borders = _borders(kind, name_code, names, marks, ~lane.take("unfinished"))
    return Host(
        table(HOST, values),
        parent,
        np.where(is_op, external, -1),
        correlation_is_external_id,
        borders,
        names_of_threads,
        line_source,
    )


def _kinds(kind: Codes, name_code: Codes, names: Sequence[str], marks: Sequence[Mark | None]) -> Codes:
    ranges = (kind == OP) | (kind == ANNOTATION)
    is_mark = np.array([mark is not None for mark in marks], dtype=bool)
    is_annotation = np.array([name.startswith(ANNOTATION_PREFIXES) for name in names], dtype=bool)
    kind[ranges & is_annotation[name_code]] = ANNOTATION
    kind[ranges & is_mark[name_code]] = MARK
    return kind


def _candidates(
    kind: Codes,
    name_code: Codes,
    names: Sequence[str],
    marks: Sequence[Mark | None],
    stack_code: Codes,
    stack_places: Sequence[Place],
    places: dict[Place, int],
) -> Candidates:
    of_mark = numbered([mark.place if mark else Place() for mark in marks], places)
    of_frame = numbered([frame_place(name) for name in names], places)
    of_stack = numbered(stack_places, places)
    return Candidates(
        mark=np.where(kind == MARK, of_mark[name_code], -1),
        frame=np.where(kind == PYTHON, of_frame[name_code], -1),
        stack=of_stack[stack_code],
    )


def _place_columns(place: Rows, places: Sequence[Place]) -> dict[str, object]:
    listed = [*places, Place()]  # place -1 is the last
    return {
        "file": categorical(place % len(listed), [p.file for p in listed]),
        "line": np.array([p.line for p in listed], dtype=np.int64)[place],
        "function": categorical(place % len(listed), [p.function for p in listed]),
    }


def _json_text(codes: Codes, is_op: NDArray[np.bool_], texts: Iterable[bytes]) -> pd.Categorical:
    """JSON text of ops, empty elsewhere (the first text is empty)."""
    return categorical(np.where(is_op, codes, 0), [text.decode("utf-8", "replace") for text in texts])


def _borders(
    kind: Codes,
    name_code: Codes,
    names: Sequence[str],
    marks: Sequence[Mark | None],
    finished: NDArray[np.bool_],
) -> Borders:
    tick = np.array([mark.number if mark and mark.kind == "tick" else -1 for mark in marks], dtype=np.int64)
    numbers = [PROFILER_STEP.match(name) for name in names]
    step = np.array([int(match[1]) if match else -1 for match in numbers], dtype=np.int64)
    return Borders(
        tick=np.where(kind == MARK, tick[name_code], -1),
        profiler_step=np.where(kind == ANNOTATION, step[name_code], -1),
        finished=finished,
    )
