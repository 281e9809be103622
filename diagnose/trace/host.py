"""The HOST table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import at_rows, categorical, integers, interned, table
from diagnose.trace.decode import Args
from diagnose.trace.events import Lane
from diagnose.trace.lines import Calls, Candidates, Mark, Place, find_lines, frame_place, numbered, parse_mark, stack_place
from diagnose.trace.nesting import inherited, innermost
from diagnose.trace.quirks import ANNOTATION_PREFIXES, BACKWARD_NODE, BACKWARD_ROOT, PROFILER_STEP
from diagnose.trace.schema import HOST
from diagnose.trace.steps import Borders

Rows = NDArray[np.int64]
Codes = NDArray[np.int32]
KINDS = ["op", "runtime", "annotation", "mark", "python", "overhead"]
_OP, _RUNTIME, _ANNOTATION, _MARK, _PYTHON = range(5)


class Host(NamedTuple):
    """The HOST table and what else of the host events the links and steps need, a value a row."""

    table: pd.DataFrame
    parent: Rows
    external_id: Rows
    borders: Borders
    threads: dict[int, str]
    line_source: dict[str, int]


class Threads(NamedTuple):
    """The thread number of every host row, and the recorded thread id of each number."""

    row: Rows
    recorded: list[int]


def number_threads(lane: Lane) -> Threads:
    """Threads numbered in order of first appearance; a thread is a process id and a thread id as recorded."""
    codes, pairs = interned([(event.pid, event.tid) for event in lane.events])
    return Threads(codes.astype(np.int64), integers([tid for _, tid in pairs]).tolist())


def host_table(lane: Lane, threads: Threads, thread_names: dict[int, str], calls: Calls) -> Host:
    """The HOST table of a lane of host events. ``thread_names`` are by recorded thread id."""
    name_code, names = interned([event.name or "" for event in lane.events])
    marks = [parse_mark(name) for name in names]
    kind = _kinds(lane, name_code, names, marks)
    is_range = (kind == _OP) | (kind == _ANNOTATION) | (kind == _MARK)
    parent = innermost(lane.start, lane.dur, is_range, threads.row)
    places: dict[Place, int] = {}
    own = _candidates(lane, kind, name_code, names, marks, places)
    place, line_source = find_lines(lane.start, lane.dur, threads.row, own, calls, numbered(calls.places, places))
    backward_name = np.array([name.startswith(BACKWARD_ROOT) or bool(BACKWARD_NODE.search(name)) for name in names], dtype=bool)
    op_rows = np.flatnonzero(kind == _OP)
    op_args = [lane.args[row] for row in op_rows.tolist()]
    values = {
        "start_ns": lane.start,
        "dur_ns": lane.dur,
        "name": categorical(name_code, [mark.kind if mark else name for name, mark in zip(names, marks, strict=True)]),
        "kind": categorical(kind, KINDS),
        "tid": threads.row,
        "correlation": correlations(lane, np.flatnonzero(kind == _RUNTIME)),
        "sequence": at_rows(op_rows, integers([args.sequence for args in op_args]), len(kind)),
        "backward": inherited((kind == _OP) & backward_name[name_code], parent) & (kind == _OP),
        "parent": parent,
        **_place_columns(place, list(places)),
        "shapes": _json_text([bytes(args.dims) or bytes(args.dims_old) for args in op_args], op_rows, len(kind)),
        "dtypes": _json_text([bytes(args.types) for args in op_args], op_rows, len(kind)),
    }
    names_of_threads = {number: thread_names.get(tid, f"thread {tid}") for number, tid in enumerate(threads.recorded)}
    external = at_rows(op_rows, external_ids(op_args), len(kind))
    return Host(table(HOST, values), parent, external, _borders(lane, kind, name_code, names, marks), names_of_threads, line_source)


def correlations(lane: Lane, rows: Rows) -> Rows:
    """The correlation id of the given rows, -1 elsewhere. Some ROCm builds write it as External id, and no correlation."""
    found = [lane.args[row] for row in rows.tolist()]
    ids = integers([args.external_id if args.correlation is None else args.correlation for args in found])
    return at_rows(rows, ids, len(lane.events))


def external_ids(args: Sequence[Args]) -> Rows:
    """The number that joins an op with what it caused, -1 if none."""
    return integers([one.external_id_old if one.external_id is None else one.external_id for one in args])


def _kinds(lane: Lane, name_code: Codes, names: Sequence[str], marks: Sequence[Mark | None]) -> Rows:
    kind_number = {kind: number for number, kind in enumerate(KINDS)}
    kind = np.array([kind_number[kind] for kind in lane.kinds], dtype=np.int64)
    ranges = (kind == _OP) | (kind == _ANNOTATION)
    is_mark = np.array([mark is not None for mark in marks], dtype=bool)
    is_annotation = np.array([name.startswith(ANNOTATION_PREFIXES) for name in names], dtype=bool)
    kind[ranges & is_annotation[name_code]] = _ANNOTATION
    kind[ranges & is_mark[name_code]] = _MARK
    return kind


def _candidates(
    lane: Lane, kind: Rows, name_code: Codes, names: Sequence[str], marks: Sequence[Mark | None], places: dict[Place, int]
) -> Candidates:
    of_mark = numbered([mark.place if mark else Place() for mark in marks], places)
    of_frame = numbered([frame_place(name) for name in names], places)
    stack_code, stacks = interned([args.call_stack for args in lane.args])
    of_stack = numbered([stack_place(stack or "") for stack in stacks], places)
    return Candidates(
        mark=np.where(kind == _MARK, of_mark[name_code], -1),
        frame=np.where(kind == _PYTHON, of_frame[name_code], -1),
        stack=of_stack[stack_code],
    )


def _place_columns(place: Rows, places: Sequence[Place]) -> dict[str, object]:
    listed = [*places, Place()]  # place -1 is the last
    return {
        "file": categorical(place % len(listed), [p.file for p in listed]),
        "line": np.array([p.line for p in listed], dtype=np.int64)[place],
        "function": categorical(place % len(listed), [p.function for p in listed]),
    }


def _json_text(texts: Sequence[bytes], rows: Rows, count: int) -> pd.Categorical:
    """A column of ``count`` texts: the given JSON at the given rows, empty elsewhere."""
    codes, distinct = interned([b"", *texts])
    all_codes = np.zeros(count, dtype=np.int32)
    all_codes[rows] = codes[1:]
    return categorical(all_codes, [text.decode("utf-8", "replace") for text in distinct])


def _borders(lane: Lane, kind: Rows, name_code: Codes, names: Sequence[str], marks: Sequence[Mark | None]) -> Borders:
    tick = np.array([mark.number if mark and mark.kind == "tick" else -1 for mark in marks], dtype=np.int64)
    numbers = [PROFILER_STEP.match(name) for name in names]
    step = np.array([int(match[1]) if match else -1 for match in numbers], dtype=np.int64)
    finished = np.array([args.finished is not False for args in lane.args], dtype=bool)
    return Borders(
        tick=np.where(kind == _MARK, tick[name_code], -1),
        profiler_step=np.where(kind == _ANNOTATION, step[name_code], -1),
        finished=finished,
    )
