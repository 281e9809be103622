"""What torch.compile says about itself.

Nothing here imports it: a script that does not compile has nothing to say.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any

from ..places import Places

_ROWS_AT_MOST, _TEXT_AT_MOST = 50, 300
_Row = tuple[str, str, int]  # reason, file, line


class CompiledFrames:
    """How many frames were compiled while steps were already taking the same time."""

    def begin(self) -> None:
        self._before = _frame_count()

    def stop(self) -> None:
        self._after = _frame_count()

    def facts(self, steps: int) -> dict[str, Any]:
        return {"frames_compiled_in_steps": self._after - self._before}


def compile_facts(places: Places, in_steps: int | None) -> dict[str, Any] | None:
    """Of the whole process so far; None if nothing was compiled."""
    if not _frame_count():
        return None
    return {
        "frame_count": _frame_count(),
        "graph_breaks": _rows(_graph_breaks(places)),
        "recompiles": _rows(_recompiles()),
        "recompiles_in_steps": in_steps,
    }


def _dynamo() -> Any:
    return sys.modules.get("torch._dynamo.utils")


def _frame_count() -> int:
    dynamo = _dynamo()
    return (
        int(dynamo.counters["frames"]["total"]) if dynamo is not None and "frames" in dynamo.counters else 0
    )


def _graph_breaks(places: Places) -> Counter[_Row]:
    """Each with the user's line in it, else the innermost."""
    found: Counter[_Row] = Counter()
    for cause in getattr(_dynamo(), "graph_break_reasons", ()):
        frames = list(cause.user_stack)
        own = [frame for frame in frames if places.user_file(frame.filename)] or frames
        file, line = (own[-1].filename, own[-1].lineno or -1) if own else ("", -1)
        found[_shortened(cause.reason), file, line] += 1
    return found


def _recompiles() -> Counter[_Row]:
    """By the frame that had to be compiled again, and why: the guard that failed first."""
    metrics: list[Any] = getattr(_dynamo(), "get_compilation_metrics", list)()
    told = [metric for metric in metrics if getattr(metric, "recompile_reason", None)]
    if told:
        return Counter(
            (_shortened(one.recompile_reason), one.co_filename or "", one.co_firstlineno or -1)
            for one in told
        )
    failures = getattr(_dynamo(), "guard_failures", {})
    return Counter(
        (_shortened(str(reason)), code.co_filename, code.co_firstlineno)
        for code, reasons in failures.items()
        for reason in reasons
    )


def _shortened(reason: str) -> str:
    """The first line, without the number of the compiled version and the source text behind it."""
    line = reason.strip().split("\n", 1)[0]
    line = re.sub(r"^\d+/\d+: ", "", line)
    return re.sub(r"\s+#.*", "", line)[:_TEXT_AT_MOST]


def _rows(found: Counter[_Row]) -> list[dict[str, Any]]:
    return [
        {"reason": reason, "count": count, "file": file, "line": line}
        for (reason, file, line), count in found.most_common(_ROWS_AT_MOST)
    ]
