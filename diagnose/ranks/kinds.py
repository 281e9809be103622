"""The matched collectives of a job by kind and process group: how often, how large, how long, how fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.collectives import LARGE_BYTES, bus_bytes, message_bytes
from diagnose.measure.job import CollectiveKind
from diagnose.ranks.arrivals import covered
from diagnose.ranks.matching import Aligned


@dataclass(frozen=True)
class Meetings:
    """Matched collectives, a value each. ``size``: how many ranks take part; -1 if unknown, as
    ``bytes_in``. Times are on one clock.

    ``last_ns``: when the last rank comes, ``end_ns``: when the rank in the middle leaves,
    ``waiting_ns`` and ``exposed_ns``: mean of the ranks, the latter -1 if unknown. ``here``: whether
    all its ranks are compared and on one machine.
    """

    kind: np.ndarray
    lane: np.ndarray
    group: np.ndarray
    bytes_in: np.ndarray
    size: np.ndarray
    last_ns: np.ndarray
    end_ns: np.ndarray
    waiting_ns: np.ndarray
    exposed_ns: np.ndarray
    here: np.ndarray


def meetings(
    together: Aligned, columns: np.ndarray, arrival_ns: np.ndarray, end_ns: np.ndarray, *, is_whole: bool
) -> Meetings:
    """Those of these columns; times have the shape (ranks, columns).

    ``is_whole``: all ranks of the job are compared, so that a group whose size is not told has as many.
    """
    kind, lane, group, told, bytes_in = (
        together.of_meeting(name)[columns] for name in ("kind", "lane", "group", "size", "bytes")
    )
    last_ns, there = np.fmax.reduce(arrival_ns, axis=0), np.isfinite(arrival_ns)
    size = np.where(told > 0, told, len(arrival_ns) if is_whole else -1)
    return Meetings(
        kind=kind,
        lane=lane,
        group=group,
        bytes_in=bytes_in,
        size=size,
        last_ns=last_ns,
        end_ns=np.nanmedian(end_ns, axis=0),
        waiting_ns=np.nanmean(np.where(there, covered(arrival_ns, last_ns[None]), np.nan), axis=0),
        exposed_ns=np.nanmean(together.of_ranks("exposed_ns")[:, columns], axis=0),
        here=_on_one_host(together, there) & (there.sum(axis=0) == size),
    )


def _on_one_host(together: Aligned, there: np.ndarray) -> np.ndarray:
    """Whether the ranks of each column have one host; False where it is not known."""
    names = [summary.host for summary in together.summaries]
    numbers = np.array([names.index(name) if name else -1 for name in names])[:, None]
    lowest, highest = (
        reduced(np.where(there, numbers, other), axis=0)
        for reduced, other in ((np.min, len(names)), (np.max, -1))
    )
    return (lowest == highest) & (lowest >= 0)


def collective_kinds(found: Meetings, step_count: int) -> tuple[CollectiveKind, ...]:
    """By kind and lane, those that take longest first.

    Several groups of one name (`mesh_tp`) count as one: their mean.
    """
    names = sorted(set(zip(found.kind.tolist(), found.lane.tolist(), strict=True)))
    kinds = [
        _kind(kind, lane, found, np.flatnonzero((found.kind == kind) & (found.lane == lane)), step_count)
        for kind, lane in names
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.ms_per_step - kind.waiting_ms_per_step))


def _kind(kind: str, lane: str, found: Meetings, of: np.ndarray, step_count: int) -> CollectiveKind:
    bytes_in, size, group = found.bytes_in[of], found.size[of], found.group[of]
    share = 1 / step_count / len(set(group.tolist()))
    bus, alone_ns = bus_bytes(kind, bytes_in, size), found.end_ns[of] - found.last_ns[of]
    own_ns = sum(_own_ns(found, of[group == name]) for name in set(group.tolist()))
    large = (message_bytes(kind, bytes_in, size) >= LARGE_BYTES) & (bus > 0) & (alone_ns > 0)
    return CollectiveKind(
        kind=kind,
        lane=lane,
        count_per_step=len(of) * share,
        bytes_per_step=float(bytes_in.sum()) * share if (bytes_in >= 0).all() else None,
        ms_per_step=own_ns * share / 1e6,
        waiting_ms_per_step=float(found.waiting_ns[of].sum()) * share / 1e6,
        exposed_ms_per_step=float(found.exposed_ns[of].sum()) * share / 1e6
        if (found.exposed_ns[of] >= 0).all()
        else None,
        bus_gb_per_s=float(bus.sum()) / own_ns if (bus > 0).all() and own_ns else None,
        size=int(size[0]) if size[0] > 0 and (size == size[0]).all() else None,
        best_gb_per_s=float((bus[large] / alone_ns[large]).max()) if large.any() else None,
        on_one_host=bool(found.here[of].all()),
    )


def _own_ns(found: Meetings, of: np.ndarray) -> float:
    """From when the last rank has come to each of these until it has ended."""
    return float(covered(found.last_ns[None, of], found.end_ns[None, of]).sum())
