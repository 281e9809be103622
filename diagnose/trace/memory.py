"""How much memory reading a trace may take: a refusal in words instead of a machine that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from diagnose.errors import TraceUnreadable, UsageError
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


def limit_for(path: Path, grows: int, limit: int | None, less: str) -> int:
    """How many bytes reading a file at once may take: ``limit``, half of what is free without one. ``grows``:
    how many times the file it takes at most; ``less``: how to record less. Raises OSError, UsageError for a
    file that is too large.
    """
    import psutil

    allowed = int(limit or psutil.virtual_memory().available // 2)
    size = path.stat().st_size
    if size * grows > allowed:
        raise UsageError(
            f"{path} may take more memory than it is allowed to",
            saw=f"{size / 1e6:,.0f} MB, which can become {size * grows / 1e9:,.1f} GB; allowed are "
            f"{allowed / 1e9:,.1f} GB",
            do=f"allow more with --memory-limit, or {less}",
        )
    return allowed
