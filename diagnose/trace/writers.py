"""Chrome traces that no torch profiler wrote: named, so that the user knows what the file is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from diagnose.errors import TraceUnreadable
from diagnose.trace.columns import integers
from diagnose.trace.decode import Event
from diagnose.trace.other_files import RECORD_HINT


class Others:
    """What the events that become no rows tell: threads' names, and who wrote the file."""

    def __init__(self) -> None:
        self.metadata_names: set[Any] = set()
        self.pids: set[Any] = set()
        self.categories: set[str] = set()  # of all events that last, rows included
        self.begins = False  # there are begin events, whose ends are events of their own
        self._threads: dict[tuple[Any, Any], Any] = {}  # their names, by pid and tid as recorded

    def add(self, events: Sequence[Event]) -> None:
        """Events without a category of torch.profiler, of the phases X, M and B."""
        named = [event for event in events if event.ph == "M" and event.args]
        self.metadata_names |= {event.args.name for event in named if event.args}
        self._threads |= {
            (event.pid, event.tid): event.args.name
            for event in named
            if event.name == "thread_name" and event.args
        }
        self.pids |= {event.pid for event in events if event.ph == "X"}
        begun = [event for event in events if event.ph == "B"]
        self.begins |= bool(begun)
        self.categories |= {event.cat or "" for event in begun}

    @property
    def thread_names(self) -> dict[tuple[Any, int], str]:
        """By process and thread id; by thread id alone, with None, too: some write another process there."""
        tids = integers([tid for _, tid in self._threads]).tolist()
        names = [str(name) for name in self._threads.values()]
        by_track = zip(
            ((pid, tid) for (pid, _), tid in zip(self._threads, tids, strict=True)), names, strict=True
        )
        return {(None, tid): name for tid, name in zip(tids, names, strict=True)} | dict(by_track)


_AUTOGRAD_HINT = "Record with torch.profiler.profile instead of torch.autograd.profiler.profile."
# Who wrote a trace, what to do about it, and how to tell.
_WRITERS: dict[str, tuple[str, Callable[[Others], bool]]] = {
    "Ascend's msprof": (RECORD_HINT, lambda seen: "Ascend Hardware" in seen.metadata_names),
    "the old torch.autograd.profiler": (
        _AUTOGRAD_HINT,
        lambda seen: bool(seen.pids & {"CPU functions", "CUDA functions"}),
    ),
    "AMD's rocprof": (
        RECORD_HINT,
        lambda seen: any(str(name).startswith("GPU Barriers") for name in seen.metadata_names),
    ),
    "a converter of Nsight Systems recordings": (
        RECORD_HINT,
        lambda seen: {"GPU", "NVTX"} <= seen.categories,
    ),
    "a tool that records begin and end events (hidet does)": (RECORD_HINT, lambda seen: seen.begins),
}
# These hold operators of torch, but their device events are in a form that would be taken for an idle device.
_UNREADABLE_DEVICES = ("Ascend's msprof",)


def refuse_other_writers(seen: Others, name: str, count: int, host_count: int, device_count: int) -> None:
    """Raises TraceUnreadable unless torch.profiler wrote the events; the counts are of all
    and of those that have its categories.
    """
    if device_count:
        return
    if not count:
        raise TraceUnreadable(
            f"{name} is a trace without events.", saw="an empty list of events", do=RECORD_HINT
        )
    for writer, (do, wrote) in _WRITERS.items():
        if (host_count == 0 or writer in _UNREADABLE_DEVICES) and wrote(seen):
            raise TraceUnreadable(
                f"{name} was written by {writer}, not by torch.profiler.", saw=_summary(seen, count), do=do
            )
    if host_count == 0:
        raise TraceUnreadable(
            f"{name} is a Chrome trace, but not of torch.profiler.", saw=_summary(seen, count), do=RECORD_HINT
        )


def _summary(seen: Others, count: int) -> str:
    categories = sorted(category for category in seen.categories if category)[:6]
    return f"{count:,} events, " + (
        f"categories {', '.join(categories)}" if categories else "none with a category"
    )
