"""The DEVICE table: GPU work, where it was launched and by which op."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import categorical, table
from diagnose.trace.events import DEVICE_KIND_NAMES, KERNEL, DeviceColumns, Lane, looked_up
from diagnose.trace.host import Host
from diagnose.trace.nesting import nearest
from diagnose.trace.quirks import (
    COMMUNICATION,
    DIRECTION,
    DIRECTION_WORDS,
    HOST_MEMORY,
    MEMORY_KINDS,
    XPU_DIRECTION,
    XPU_MEMORY,
)
from diagnose.trace.schema import DEVICE

Rows = NDArray[np.int64]


def device_table(lane: Lane, columns: DeviceColumns, host: Host, collective: Rows) -> pd.DataFrame:
    """The DEVICE table of a lane of device events, linked to the host's rows.

    ``collective``: its rows with a number are collectives.
    """
    names = [name or "" for name in columns.names]
    name_code, kind, copy_code = lane.take("name"), lane.take("kind"), lane.take("copy")
    copies = [*(_copy(*told) for told in columns.copies), ("", "")]  # copy -1, for what is none, is the last
    communicates = np.array([bool(COMMUNICATION.search(name)) for name in names], dtype=bool)
    correlation, external = lane.take("correlation"), lane.take("external")
    if host.correlation_is_external_id:  # then it is no op's
        correlation, external = (
            np.where(correlation >= 0, correlation, external),
            np.where(correlation >= 0, external, -1),
        )
    launch = _launches(correlation, host)
    values = {
        "start_ns": lane.start,
        "dur_ns": lane.dur,
        "name": categorical(name_code, names),
        "kind": categorical(kind, DEVICE_KIND_NAMES),
        "device": lane.take("device"),
        "stream": lane.take("stream"),
        "correlation": correlation,
        "bytes": lane.take("bytes"),
        "direction": categorical(copy_code % len(copies), [direction for direction, _ in copies]),
        "host_memory": categorical(copy_code % len(copies), [memory for _, memory in copies]),
        "communication": (kind == KERNEL) & (communicates[name_code] | (collective >= 0)),
        "launch": launch,
        "op": _ops(external, launch, host),
    }
    return table(DEVICE, values)


def _copy(recorded_name: str | None, told_kind: object, told_direction: object) -> tuple[str, str]:
    """Direction of a copy and the kind of host memory it touches, from its
    name, its ``kind`` or its ``direction``.
    """
    name = recorded_name or ""
    kinds = MEMORY_KINDS.search(name)
    ends = (kinds[1].lower(), kinds[2].lower()) if kinds else ("", "")
    direction = next((found[1] for text in (name, str(told_kind)) if (found := DIRECTION.search(text))), "")
    if not direction and (found := XPU_DIRECTION.search(name)):
        source, target = ("D" if end == "D" else "H" for end in found.groups())
        memory = next((XPU_MEMORY[end] for end in found.groups() if end in XPU_MEMORY), "")
        return f"{source}to{target}", memory if source != target else ""
    if not direction:
        words = f"{name} {told_kind} {told_direction}".lower().replace("_", "")
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
    return looked_up(correlation, of_host[rows], rows)


def _ops(external_id: Rows, launch: Rows, host: Host) -> Rows:
    """The innermost op around the launch, else the op with the event's external id
    (launches on threads torch does not see).
    """
    is_op = (host.table["kind"] == "op").to_numpy()
    around = nearest(is_op, host.parent, launch)
    rows = np.flatnonzero(is_op & (host.external_id > 0))
    named = looked_up(external_id, host.external_id[rows], rows)
    return np.where(around >= 0, around, named)
