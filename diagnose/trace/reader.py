"""A trace file to typed tables: the one entrance to everything in this package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from diagnose.errors import TraceUnreadable
from diagnose.trace.clock import needs_decimals
from diagnose.trace.columns import integers
from diagnose.trace.content import RECORD_HINT, Content, read_content
from diagnose.trace.decode import DECODE_ERRORS, Event, TraceFile, decode_file
from diagnose.trace.device import device_table
from diagnose.trace.events import lane, shifted, split
from diagnose.trace.foreign import refuse_foreign
from diagnose.trace.host import Threads, host_table, number_threads
from diagnose.trace.lines import Calls, read_calls
from diagnose.trace.quirks import DEVICE_KINDS, HOST_KINDS
from diagnose.trace.repair import salvage
from diagnose.trace.schema import Trace
from diagnose.trace.steps import find_steps


def read_trace(path: str | os.PathLike[str] | IO[bytes], calls: Path | None = None) -> Trace:
    """The tables of a trace of torch.profiler: plain, gzip or zstd JSON from a path, an open binary file or an fsspec URL.

    ``calls`` is the run folder's detail.calls.json. Times keep the file's full precision (ns; see `diagnose.trace.clock`).
    Raises TraceUnreadable where nothing can be read, UsageError where the file cannot be opened; what was repaired or lost
    is told in ``Trace.notes``.
    """
    content = read_content(path)
    file, notes = _decoded(content)
    if file.events is None:
        raise TraceUnreadable(f"{content.source} is JSON, but no trace: it has no traceEvents.", saw=_start(content), do=RECORD_HINT)
    host_events, device_events = split(file.events)
    refuse_foreign(file.events, content.source, len(host_events), len(device_events))
    host_lane, device_lane = lane(host_events, HOST_KINDS), lane(device_events, DEVICE_KINDS)
    starts = [int(part.start[0]) for part in (host_lane, device_lane) if len(part.start)]
    if not starts:
        raise TraceUnreadable(f"No event in {content.source} has a usable time.", do=RECORD_HINT)
    if dropped := host_lane.dropped + device_lane.dropped:
        notes.append(f"{dropped:,} events without a usable time were left out.")

    first = min(starts)
    origin_ns = first + _base_ns(file)
    threads = number_threads(host_lane)
    known_calls = _calls(calls, origin_ns, threads, notes)
    host = host_table(shifted(host_lane, first), threads, _thread_names(file.events), known_calls)
    device = device_table(shifted(device_lane, first), host)
    steps = find_steps(host.table, device, host.borders)
    return Trace(
        source=content.source,
        host=host.table,
        device=device,
        steps=steps.table,
        step_source=steps.source,
        training_thread=steps.training_thread,
        threads=host.threads,
        origin_ns=origin_ns,
        info=_info(file) | {"line_source": host.line_source},
        notes=(*notes, *steps.notes),
    )


def _decoded(content: Content) -> tuple[TraceFile, list[str]]:
    notes = ["The compressed file is cut off or damaged: what came before that was read."] if content.cut_off else []
    file, damage = _file(content, decimals=False)
    if file.events and needs_decimals([event.ts for event in file.events if event.ph == "X"]):
        file, damage = _file(content, decimals=True)
    return file, notes + damage


def _file(content: Content, decimals: bool) -> tuple[TraceFile, list[str]]:
    try:
        return decode_file(content.data, decimals), []
    except DECODE_ERRORS:
        return salvage(content.data, decimals)


def _start(content: Content) -> str:
    return f"it starts with {bytes(content.data[:60]).decode('utf-8', 'replace')!r}"


def _base_ns(file: TraceFile) -> int:
    base = file.baseTimeNanoseconds
    return base if isinstance(base, int) else 0


def _calls(path: Path | None, origin_ns: int, threads: Threads, notes: list[str]) -> Calls:
    if path is None:
        return Calls()
    try:
        return read_calls(path, origin_ns, {tid: number for number, tid in reversed(list(enumerate(threads.recorded)))})
    except (OSError, ValueError) as error:
        notes.append(f"The calls of the detail phase could not be read ({error}); source lines come from marks and stacks alone.")
        return Calls()


def _thread_names(events: Sequence[Event]) -> dict[int, str]:
    named = [event for event in events if event.ph == "M" and event.name == "thread_name" and event.args]
    names = [str(event.args.name) for event in named if event.args]
    return dict(zip(integers([event.tid for event in named]).tolist(), names, strict=True))


def _info(file: TraceFile) -> dict[str, Any]:
    """The file's top-level fields that it has; computeProperties is what early torch 1.9 called deviceProperties."""
    fields = zip(file.__struct_encode_fields__, file.__struct_fields__, strict=True)
    info = {key: getattr(file, field) for key, field in fields if field != "events" and getattr(file, field) is not None}
    if "computeProperties" in info:
        info.setdefault("deviceProperties", info.pop("computeProperties"))
    info.setdefault("deviceProperties", [])
    return info
