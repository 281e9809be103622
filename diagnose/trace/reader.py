"""A recording to typed tables: the one entrance to everything in this package."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from diagnose.trace.collector import collector_at_rest
from diagnose.trace.content import MAX_BYTES, MAX_RATIO, Content
from diagnose.trace.formats import format_of
from diagnose.trace.freed import give_back
from diagnose.trace.memory import Memory
from diagnose.trace.schema import Trace
from diagnose.trace.source import Readable


@collector_at_rest()
def read_trace(
    source: Readable,
    calls: Path | None = None,
    memory_limit: int | None = None,
    trusted: bool = False,
    progress: Callable[[Content], None] | None = None,
) -> Trace:
    """The tables of a recording in one of the `diagnose.trace.formats`: plain, gzip or zstd, from a path,
    an open binary file or an fsspec URL.

    ``calls`` is the run folder's detail.calls.json. The file is decoded a batch at a time; a recording that
    would take more than ``memory_limit`` bytes (half of what is free, if None) is refused; one that inflates
    as no recording does is refused too, unless it is ``trusted``. ``progress`` is told while the file is
    read. Raises TraceUnreadable where nothing can be read, UsageError where the file cannot be opened; what
    was repaired or lost is told in ``Trace.notes``.
    """
    max_bytes, max_ratio = (math.inf, math.inf) if trusted else (MAX_BYTES, MAX_RATIO)
    content = Content(source, max_bytes, max_ratio, progress)
    blocks = content.blocks()
    first = next(blocks)  # never empty: see `Content.blocks`
    reader = format_of(first, content.name).reader
    trace = reader.read(content, chain([first], blocks), Memory(memory_limit), calls)
    give_back()
    return trace
