"""The formats of recordings that can be read: a new one is a module beside this one and a line in `FORMATS`.

A file is told by its first bytes. Nothing heavy is imported here: a module is when its format is read.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from diagnose.errors import TraceUnreadable
from diagnose.trace.other_files import RECORD_HINT, by_bytes

if TYPE_CHECKING:
    from diagnose.trace.content import Content
    from diagnose.trace.memory import Memory
    from diagnose.trace.schema import Trace

START_BYTES = 4096  # of the uncompressed file tell what it is
PACKINGS = ("", ".gz", ".zst")


class Reader(Protocol):
    """What the module of a format holds."""

    @staticmethod
    def read(content: Content, blocks: Iterator[bytes], memory: Memory, calls: Path | None) -> Trace:
        """The tables of a recording.

        ``blocks``: all of ``content``, uncompressed, from its first byte on, to be read once. ``memory`` is
        asked while tables grow. ``calls``: the run folder's detail.calls.json. Raises TraceUnreadable where
        nothing can be read; what was repaired or lost is told in ``Trace.notes``.
        """
        ...


@dataclass(frozen=True)
class Format:
    """``begins``: a regular expression for the first bytes; ``module``: its `Reader`."""

    name: str
    begins: bytes
    suffix: str
    module: str

    def fits(self, start: bytes) -> bool:
        return re.match(self.begins, start, re.DOTALL) is not None

    @property
    def reader(self) -> Reader:
        return cast(Reader, importlib.import_module(self.module))


CHROME = Format("a Chrome trace of torch.profiler", rb"\s*[\[{]", ".json", "diagnose.trace.chrome")
# A message XSpace: its first field is a plane, one of whose first is its name (`diagnose.trace.xspace`).
XPLANE = Format(
    "a profile of TensorFlow or JAX",
    rb"\n.{1,22}\x12.(/host:|/device:|Task Environment)",
    ".xplane.pb",
    "diagnose.trace.xplane",
)
FORMATS = (
    XPLANE,
    CHROME,
    Format("an Nsight Systems export", rb"\s*SQLite format 3\0", ".sqlite", "diagnose.trace.nsight"),
)
TRACE_SUFFIXES = tuple(f"{known.suffix}{packing}" for known in FORMATS for packing in PACKINGS)


def format_of(start: bytes, name: str) -> Format:
    """The format of a file that begins like this. Raises TraceUnreadable, naming it, if there is none."""
    shown = start.lstrip()[:16]
    if other := by_bytes(start):
        raise TraceUnreadable(
            f"{name} cannot be read. This is {other.what}, not a trace of torch.profiler.",
            saw=f"it starts with {shown!r}",
            do=other.do,
        )
    if not shown:
        raise TraceUnreadable(f"{name} holds no JSON.", saw="nothing but blanks at its start", do=RECORD_HINT)
    found = next((known for known in FORMATS if known.fits(start)), None)
    if found is None:
        raise TraceUnreadable(f"{name} is no JSON trace.", saw=f"it starts with {shown!r}", do=RECORD_HINT)
    return found
