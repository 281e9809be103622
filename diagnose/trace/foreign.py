"""Chrome traces that no torch profiler wrote: named, so that the user knows what the file is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diagnose.errors import TraceUnreadable
from diagnose.trace.content import RECORD_HINT
from diagnose.trace.decode import Event


def _pids(events: Sequence[Event]) -> set[str]:
    return {str(event.pid) for event in events}


def _metadata_names(events: Sequence[Event]) -> set[str]:
    return {str(event.args.name) for event in events if event.ph == "M" and event.args and event.args.name is not None}


def _categories(events: Sequence[Event]) -> set[str]:
    return {event.cat or "" for event in events if event.ph in ("X", "B")}


_AUTOGRAD_HINT = "Record with torch.profiler.profile instead of torch.autograd.profiler.profile."
# Who wrote a trace, what to do about it, and how to tell.
_WRITERS: dict[str, tuple[str, Callable[[Sequence[Event]], bool]]] = {
    "Ascend's msprof": (RECORD_HINT, lambda events: "Ascend Hardware" in _metadata_names(events)),
    "the old torch.autograd.profiler": (_AUTOGRAD_HINT, lambda events: bool(_pids(events) & {"CPU functions", "CUDA functions"})),
    "AMD's rocprof": (RECORD_HINT, lambda events: any(name.startswith("GPU Barriers") for name in _metadata_names(events))),
    "a converter of Nsight Systems recordings": (RECORD_HINT, lambda events: {"GPU", "NVTX"} <= _categories(events)),
    "a tool that records begin and end events (hidet does)": (RECORD_HINT, lambda events: any(event.ph == "B" for event in events)),
}
# These hold operators of torch, but their device events are in a form that would be taken for an idle device.
_UNREADABLE_DEVICES = ("Ascend's msprof",)


def refuse_foreign(events: Sequence[Event], name: str, host_count: int, device_count: int) -> None:
    """Raises TraceUnreadable unless torch.profiler wrote the events; the counts are of those that have its categories."""
    if device_count:
        return
    if not events:
        raise TraceUnreadable(f"{name} is a trace without events.", saw="an empty list of events", do=RECORD_HINT)
    for writer, (do, wrote) in _WRITERS.items():
        if (host_count == 0 or writer in _UNREADABLE_DEVICES) and wrote(events):
            raise TraceUnreadable(f"{name} was written by {writer}, not by torch.profiler.", saw=_summary(events), do=do)
    if host_count == 0:
        raise TraceUnreadable(f"{name} is a Chrome trace, but not of torch.profiler.", saw=_summary(events), do=RECORD_HINT)


def _summary(events: Sequence[Event]) -> str:
    categories = sorted(category for category in _categories(events) if category)[:6]
    return f"{len(events):,} events, " + (f"categories {', '.join(categories)}" if categories else "none with a category")
