"""What the profiler costs on this machine, now: calls that are known, with it and
without, in a short recording of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from ..accelerator import Activities
from .marks import Marks
from .ranges import mark
from .recorder import recording_session

_REPEATS = 200
_EVENTS_OF_ITEM = 2  # aten::item and what it calls


def measured_costs(marks: Marks, activities: Activities) -> dict[str, int] | None:
    """ns an operator takes longer because it is recorded, a call because it is marked, and
    the range of such a mark by itself; and what an addition of four numbers takes without any of that.

    Medians, so that what else the machine does hardly counts. Takes some 10 ms. None where the calls fail. A
    mode of the script's own, which may count calls, is told of none of these.
    """
    try:
        from torch.utils._python_dispatch import _disable_current_modes

        with torch._C.DisableTorchFunction(), _disable_current_modes():
            return _measured_costs(marks, activities)
    except Exception:
        return None


def _measured_costs(marks: Marks, activities: Activities) -> dict[str, int]:
    tensor = torch.ones(4, device="cpu")
    item, marked_item = torch.Tensor.item, marks.marked_read("item", torch.Tensor.item)
    number = torch.ones((), device="cpu")

    def range_alone() -> None:
        with mark("diagnose::cost"):
            pass

    def operator() -> None:
        torch.add(tensor, tensor)

    plain_ns = [_median_ns(operator), _median_ns(lambda: item(number))]
    with recording_session(activities):
        operator_ns, item_ns = _median_ns(operator), _median_ns(lambda: marked_item(number))
        range_ns = _median_ns(range_alone)
    event_ns = max(0, operator_ns - plain_ns[0])
    return {
        "call_ns": plain_ns[0],
        "event_ns": event_ns,
        "mark_ns": max(0, item_ns - plain_ns[1] - _EVENTS_OF_ITEM * event_ns),
        "range_ns": range_ns,
    }


def _median_ns(call: Callable[[], Any]) -> int:
    took_ns = []
    for _ in range(_REPEATS):
        begin = perf_counter_ns()
        call()
        took_ns.append(perf_counter_ns() - begin)
    return sorted(took_ns)[_REPEATS // 2]
