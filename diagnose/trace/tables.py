"""The events of a recording, sorted into lanes, to its typed tables: what all formats have in common."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from diagnose.errors import TraceUnreadable
from diagnose.trace.allocations import memory_table
from diagnose.trace.collectives import collective_table
from diagnose.trace.decode import TraceFile
from diagnose.trace.device import device_table
from diagnose.trace.doubts import doubts, merged
from diagnose.trace.events import Lane, Lanes
from diagnose.trace.host import Threads, host_table, number_threads
from diagnose.trace.lines import Calls, read_calls
from diagnose.trace.losses import Losses, Tables, whole_steps
from diagnose.trace.notes import MARK_STEPS
from diagnose.trace.other_files import RECORD_HINT
from diagnose.trace.quirks import device_type
from diagnose.trace.repair import Damage
from diagnose.trace.schema import InFile, Trace
from diagnose.trace.steps import Steps, find_steps
from diagnose.trace.waits import wait_table

# Where a time is as late, times count from 1970, and one of 0 or less is none. (10^18 is of 2001.)
EPOCH_NS = 10**18


def trace_of(name: str, lanes: Lanes, file: TraceFile, damage: Damage, calls: Path | None = None) -> Trace:
    """``name``: of the recording; ``file``: what it tells besides its events; ``calls``: the run folder's
    detail.calls.json. Raises TraceUnreadable where no event has a usable time.
    """
    notes = list(damage.sentences)
    host_lane, device_lane, memory_lane = (
        Lane(lanes.host.parts),
        Lane(lanes.device.parts),
        Lane(lanes.memory.parts),
    )
    parts = (host_lane, device_lane, memory_lane)
    if max((int(part.start[-1]) for part in parts if len(part)), default=0) >= EPOCH_NS:
        for part in parts:
            part.leave_out_before(1)
    starts = [int(part.start[0]) for part in (host_lane, device_lane) if len(part)]
    if not starts:
        raise TraceUnreadable(f"No event in {name} has a usable time.", do=RECORD_HINT)
    if dropped := host_lane.dropped + device_lane.dropped + memory_lane.dropped:
        notes.append(f"Left out: {dropped:,} event{'s' * (dropped != 1)} without a usable time.")

    first = min(starts)
    origin_ns = first + _base_ns(file)
    for part in parts:
        part.start -= first
    threads = number_threads(host_lane, lanes.host)
    host = host_table(
        host_lane, lanes.host, threads, lanes.others.thread_names, _calls(calls, origin_ns, threads, notes)
    )
    collective = device_lane.take("collective")
    device = device_table(device_lane, lanes.device, host, collective)
    allocations = memory_table(memory_lane)
    several = merged(host.table, [pid for pid, _ in threads.tracks], host.borders.profiler_step)
    steps, lost = whole_steps(
        find_steps(host.table, device, host.borders),
        Tables(host.table, device, host_lane, device_lane),
        Losses(damage.cut_off, damage.lost + dropped, may_have_gpu=_gpus(file) != [], merged=bool(several)),
    )
    return Trace(
        source=name,
        host=host.table,
        device=device,
        steps=steps.table,
        step_source=steps.source,
        training_thread=steps.training_thread,
        threads=host.threads,
        origin_ns=origin_ns,
        waits=wait_table(lanes.waits, first, host.table),
        memory=allocations,
        collectives=collective_table(collective, list(lanes.device.collectives)),
        info=_info(file)
        | {"line_source": host.line_source, "device_type": device_type(lanes.others.categories)},
        notes=(*notes, *_with_advice(steps, file)),
        doubts=(
            *doubts(host.table, device, allocations, len(_gpus(file) or ()), _backend(file)),
            *several,
            *lost,
        ),
        in_file=_in_file(first, threads, lanes),
    )


def _with_advice(steps: Steps, file: TraceFile) -> tuple[str, ...]:
    """The notes on the steps; of steps that nothing marks how to mark them."""
    if steps.source != "repetition":
        return steps.notes
    *before, repeats = steps.notes
    return *before, f"{repeats} {MARK_STEPS.get(file.framework, MARK_STEPS['torch'])}"


def _in_file(first_ns: int, threads: Threads, lanes: Lanes) -> InFile:
    device_tracks = lanes.device.tracks
    shared = Counter((ordinal, stream) for ordinal, stream, _, _ in device_tracks)
    return InFile(
        first_ns,
        host=dict(enumerate(threads.tracks)),
        device={
            (ordinal, stream): (pid, tid)
            for ordinal, stream, pid, tid in device_tracks
            if shared[ordinal, stream] == 1
        },
        pids=frozenset(
            {pid for pid, _ in threads.tracks} | {pid for _, _, pid, _ in device_tracks} | lanes.others.pids
        ),
    )


def _gpus(file: TraceFile) -> list[dict[str, Any]] | None:
    """The GPUs of the machine; None where the file does not list them. computeProperties is what early
    torch 1.9 called deviceProperties.
    """
    properties = file.computeProperties if file.deviceProperties is None else file.deviceProperties
    return [one for one in properties if isinstance(one, dict)] if isinstance(properties, list) else None


def _backend(file: TraceFile) -> str:
    """Of torch.distributed; empty where the file does not tell."""
    told = file.distributedInfo
    return str(told.get("backend", "")) if isinstance(told, dict) else ""


def _base_ns(file: TraceFile) -> int:
    base = file.baseTimeNanoseconds
    return base if isinstance(base, int) else 0


def _calls(path: Path | None, origin_ns: int, threads: Threads, notes: list[str]) -> Calls:
    if path is None:
        return Calls()
    try:
        return read_calls(
            path, origin_ns, {tid: number for number, tid in reversed(list(enumerate(threads.recorded)))}
        )
    except (OSError, ValueError) as error:
        notes.append(
            f"The calls of the detail phase could not be read ({error}); source lines come from marks and "
            "stacks alone."
        )
        return Calls()


def _info(file: TraceFile) -> dict[str, Any]:
    """The file's top-level fields that it has."""
    fields = zip(file.__struct_encode_fields__, file.__struct_fields__, strict=True)
    info = {
        key: getattr(file, field)
        for key, field in fields
        if field != "events" and getattr(file, field) is not None
    }
    info.pop("computeProperties", None)
    info["deviceProperties"] = _gpus(file) or []
    return info
