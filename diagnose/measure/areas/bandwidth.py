"""How fast the ranks talk: bus bandwidths as nccl-tests count them, against what the GPUs'
links can carry; and how long they wait.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from diagnose.measure.collectives import BUS_FACTORS, LARGE_BYTES, bus_bytes, collectives, message_bytes
from diagnose.measure.links import link_gb_per_s
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_GPU, NO_STEPS, ONE_RANK, Missing, Unknown
from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows

# What these reach is bound by the links. An all-to-all between two B200 on a healthy machine
# took a third of theirs, for 112 MiB.
LINK_KINDS = ("all_reduce", "all_gather", "reduce_scatter")
LEAST_EQUAL = 3  # collectives of one kind and size, to tell that some take longer than others
NO_COLLECTIVES = Missing("no collective was recorded on a GPU")
NO_LARGE = Missing("no collective of 16 MiB or more, of a known kind, size and number of ranks, was recorded")
NO_EQUAL = Missing("no three collectives of one kind and known size were recorded")
NO_LINK = Missing("the link speed of this GPU is not known")
NO_HOST_RANKS = Missing("no collective of 16 MiB or more was recorded on all ranks of one machine")


def _collective_rows(measured: Measured) -> tuple[Selection, Rows]:
    """Raises Unknown without collectives on a GPU."""
    view = measured.timeline
    if view is None or not view.has_device:
        raise Unknown(NO_STEPS if view is None else NO_GPU)
    rows = np.flatnonzero(view.device["communication"].to_numpy() & view.device_in_steps)
    if not len(rows):
        raise Unknown(NO_COLLECTIVES)
    return view, rows


@metric("bus_gb_per_s", "GB/s", "Bus bandwidth of the fastest collective of 16 MiB or more, waiting included")
def _bus_gb_per_s(measured: Measured) -> Value | Missing:
    return _fastest(measured, BUS_FACTORS)[0]


@metric(
    "bus_link_share",
    "share",
    "Share of the link bandwidth that the fastest large collective reaches, all-to-alls left out,"
    " if its ranks are on one machine",
)
def _bus_link_share(measured: Measured) -> Value | Missing:
    best, size = _fastest(measured, LINK_KINDS)
    return best / _link(measured, size)


def _fastest(measured: Measured, kinds: Iterable[str]) -> tuple[float, int]:
    """Bus bandwidth of the fastest large collective of these kinds, and how many ranks it has; raises
    Unknown.
    """
    view, rows = _collective_rows(measured)
    found, dur = collectives(view, rows), view.device["dur_ns"].to_numpy()[rows]
    best = (0.0, 0)
    for kind in kinds:
        large = (
            (found.kind == kind)
            & (message_bytes(kind, found.bytes_in, found.size) >= LARGE_BYTES)
            & (dur > 0)
        )
        rates = bus_bytes(kind, found.bytes_in[large], found.size[large]) / dur[large]
        best = max([best, *zip(rates.tolist(), found.size[large].tolist(), strict=True)])
    if best[0] <= 0:
        raise Unknown(NO_LARGE)
    return best


def _link(measured: Measured, rank_count: int) -> float:
    """GB/s; raises Unknown."""
    view = measured.timeline
    devices = view.trace.info.get("deviceProperties") or [] if view is not None else []
    names = {device.get("name") for device in devices if isinstance(device.get("name"), str)}
    link = link_gb_per_s(str(names.pop()), rank_count) if len(names) == 1 else None
    if link is None:
        raise Unknown(NO_LINK)
    return link


@metric(
    "link_share_reached",
    "share",
    "Share of the link bandwidth that the fastest large collective of one machine reaches, once "
    "its last rank has arrived",
)
def _link_share_reached(measured: Measured) -> Value | Missing:
    if measured.job is None:
        return ONE_RANK
    judged = [kind for kind in measured.job.collectives if kind.kind in LINK_KINDS and kind.on_one_host]
    reached = [(one.best_gb_per_s, one.size) for one in judged if one.size and one.best_gb_per_s]
    if not reached:
        return NO_HOST_RANKS
    return max(best / _link(measured, size) for best, size in reached)


@metric(
    "collective_waiting_share",
    "share",
    "Share of collective time spent waiting: what equal collectives take beyond the fastest of them",
)
def _collective_waiting_share(measured: Measured) -> Value | Missing:
    view, rows = _collective_rows(measured)
    found, dur = collectives(view, rows), view.device["dur_ns"].to_numpy()[rows]
    alike: dict[tuple[str, str, int], list[int]] = {}
    for at in np.flatnonzero(found.bytes_in >= 0).tolist():
        alike.setdefault((found.kind[at], found.group[at], int(found.bytes_in[at])), []).append(int(dur[at]))
    equal = [taken for taken in alike.values() if len(taken) >= LEAST_EQUAL]
    if not equal:
        return NO_EQUAL
    return sum(sum(taken) - len(taken) * min(taken) for taken in equal) / float(dur.sum())
