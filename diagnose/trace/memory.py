"""How much memory reading a trace may take: a refusal in words instead of a machine that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from diagnose.errors import TraceUnreadable
from diagnose.trace.content import Content

# Sorting the columns, the tables and the analysis took 3.2 bytes at their peak for each
# byte of the columns that were read.
PEAK = 4
ALWAYS_GRANTED = 2**28
Part = TypeVar("Part")


class Memory:
    """A limit in bytes; None is half of what is free when it begins to matter."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit

    def watched(self, content: Content, parts: Iterator[Part], held: Callable[[], int]) -> Iterator[Part]:
        """Parts of the content, as long as ``held`` bytes leave room for the analysis;
        raises TraceUnreadable when they do not.
        """
        for part in parts:
            yield part
            if not self._grants(PEAK * held()):
                needed, allowed = PEAK * held() / 2**20, (self._limit or 0) / 2**20
                raise TraceUnreadable(
                    f"{content.name} needs more memory than the limit.",
                    saw=f"over {needed:.1f} MiB needed, {allowed:.1f} MiB allowed, {100 * content.share:.0f} "
                    "% of the file read",
                    do="Raise the limit with --memory-limit, record fewer steps, or record without stacks.",
                )

    def _grants(self, needed: int) -> bool:
        if self._limit is None:
            if needed <= ALWAYS_GRANTED:
                return True
            import psutil  # slow to import, and most traces are small

            self._limit = psutil.virtual_memory().available // 2
        return needed <= self._limit
