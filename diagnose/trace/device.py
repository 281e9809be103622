"""The DEVICE table: GPU work, where it was launched and by which op."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import categorical, integers, interned, table
from diagnose.trace.decode import Args, Event
from diagnose.trace.events import NO_ARGS, Lane
from diagnose.trace.host import Host, correlations, external_ids
from diagnose.trace.nesting import nearest
from diagnose.trace.quirks import COMMUNICATION, DIRECTION, DIRECTION_WORDS, HOST_MEMORY, MEMORY_KINDS, MTIA_COPIES
from diagnose.trace.schema import DEVICE

Rows = NDArray[np.int64]
KINDS = ["kernel", "memcpy", "memset"]


def device_table(lane: Lane, host: Host) -> pd.DataFrame:
    """The DEVICE table of a lane of device events, linked to the host's rows."""
    name_code, names = interned([event.name or "" for event in lane.events])
    kind = _kinds(lane, name_code, names)
    copies = [_copy(event, args) if number == 1 else ("", "") for event, args, number in zip(lane.events, lane.args, kind, strict=True)]
    direction_code, directions = interned([direction for direction, _ in copies])
    memory_code, memories = interned([memory for _, memory in copies])
    collective = np.array([args.collective is not None for args in lane.args], dtype=bool)
    communicates = np.array([bool(COMMUNICATION.search(name)) for name in names], dtype=bool)
    correlation = correlations(lane, np.arange(len(lane.events)))
    launch = _launches(correlation, host)
    values = {
        "start_ns": lane.start,
        "dur_ns": lane.dur,
        "name": categorical(name_code, names),
        "kind": categorical(kind, KINDS),
        "device": integers([event.pid if args.device is None else args.device for event, args in zip(lane.events, lane.args, strict=True)]),
        "stream": integers([event.tid if args.stream is None else args.stream for event, args in zip(lane.events, lane.args, strict=True)]),
        "correlation": correlation,
        "bytes": integers([args.size if args.bytes is None else args.bytes for args in lane.args]),
        "direction": categorical(direction_code, directions),
        "host_memory": categorical(memory_code, memories),
        "communication": (kind == 0) & (communicates[name_code] | collective),
        "launch": launch,
        "op": _ops(lane, launch, host),
    }
    return table(DEVICE, values)


def _kinds(lane: Lane, name_code: NDArray[np.int32], names: list[str]) -> Rows:
    kind = np.array([KINDS.index(kind) for kind in lane.kinds], dtype=np.int64)
    mtia_copy = np.array([name in MTIA_COPIES for name in names], dtype=bool)
    kind[mtia_copy[name_code]] = KINDS.index("memcpy")
    return kind


def _copy(event: Event, args: Args) -> tuple[str, str]:
    """Direction of a copy and the kind of host memory it touches, from its name, its ``kind`` or its ``direction``."""
    name = event.name or ""
    kinds = MEMORY_KINDS.search(name)
    ends = (kinds[1].lower(), kinds[2].lower()) if kinds else ("", "")
    direction = next((found[1] for text in (name, str(args.kind)) if (found := DIRECTION.search(text))), "")
    if not direction:
        words = f"{name} {args.kind} {args.direction}".lower().replace("_", "")
        direction = next((short for word, short in DIRECTION_WORDS.items() if word in words), "")
    if direction in ("HtoD", "DtoH") and ends == ("device", "device"):
        return "PtoP", ""  # how CUPTI names the copies between GPUs that DataParallel makes
    if direction not in ("HtoD", "DtoH"):
        return direction, ""
    return direction, HOST_MEMORY.get(ends[0 if direction == "HtoD" else 1], "unknown")


def _launches(correlation: Rows, host: Host) -> Rows:
    """The host row of the runtime call with the same correlation; the first, where several have it."""
    of_host = host.table["correlation"].to_numpy()
    rows = np.flatnonzero(of_host >= 0)
    return _looked_up(correlation, of_host[rows], rows)


def _ops(lane: Lane, launch: Rows, host: Host) -> Rows:
    """The innermost op around the launch, else the op with the event's external id (launches on threads torch does not see)."""
    is_op = (host.table["kind"] == "op").to_numpy()
    around = nearest(is_op, host.parent, launch)
    rows = np.flatnonzero(is_op & (host.external_id > 0))
    # Without a correlation the external id is not the op's, see `correlations`.
    ids = external_ids([NO_ARGS if args.correlation is None else args for args in lane.args])
    named = _looked_up(ids, host.external_id[rows], rows)
    return np.where(around >= 0, around, named)


def _looked_up(wanted: Rows, keys: Rows, rows: Rows) -> Rows:
    """``rows[i]`` of the first ``keys[i]`` equal to each wanted value; -1 where there is none or the value is negative."""
    if len(keys) == 0 or len(wanted) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    by_key = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[by_key], wanted), len(keys) - 1)
    found = by_key[at]
    return np.where((wanted >= 0) & (keys[found] == wanted), rows[found], -1)
