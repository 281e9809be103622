"""What every recording of a profiler of Python is read into. Times are seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from diagnose.trace.quirks import LIBRARY_PATH, LIBRARY_ROOT

_NOTEBOOK = re.compile(r"^<ipython|/ipykernel_\d+/")
_INSTALLED = re.compile(r".*(?:(?:site|dist)-packages/|/lib(?:64)?/python[\d.]+t?/)")
_FROM_MODULE = re.compile(r"<built-in method (?:[\w.]+\.)?(\w+)>$")
_OF_TYPE = re.compile(r"<(?:method|slot wrapper) '(\w+)' of '([^']+)' objects>$")


class Site(NamedTuple):
    """A function, or a line of one. ``line`` is 0 where it is not known, ``file`` empty for one in C."""

    file: str
    line: int
    function: str

    @property
    def is_own(self) -> bool:
        """Whether the user wrote it: not Python's, and not an installed package's."""
        file = self.file.replace("\\", "/")
        if _NOTEBOOK.search(file):
            return True
        if not file or LIBRARY_PATH.search(file):
            return False
        is_short = not file.startswith("/") and file[1:2] != ":"
        return not (is_short and LIBRARY_ROOT.fullmatch(file.partition("/")[0].removesuffix(".py")))

    @property
    def is_script(self) -> bool:
        """Whether it is a file of the user's that runs: what is above it, as an import, is not its time."""
        return self.function == "<module>" and self.is_own

    @property
    def callee(self) -> str:
        """As rules name what is called: `torch/serialization.py: save`, `<built-in function sleep>`."""
        if self.file:
            file = _INSTALLED.sub("", self.file.replace("\\", "/"))
            return f"{file}: {self.function.rpartition('.')[2]}"
        if method := _OF_TYPE.match(self.function):
            return f"<built-in method {method[1]} of {method[2].removesuffix('Base')} object>"
        function = _FROM_MODULE.match(self.function)
        if function and "torch" not in self.function:
            return f"<built-in function {function[1]}>"
        return self.function


@dataclass(frozen=True)
class Row:
    """``self_s``: in it alone; ``with_libraries_s``: and in the library code that it called, until that
    calls the user's again; ``total_s``: from its call to its end. ``calls``: None where not counted.

    ``mostly``: what it called, the most first, with its seconds.
    """

    site: Site
    self_s: float
    with_libraries_s: float
    total_s: float
    calls: int | None = None
    mostly: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Profile:
    """``duration_s``: what all shares are of. ``rows``: the user's own functions or lines, or what there is
    (``what``: function, line, action, any function). ``kinds``: seconds by kind (`diagnose.profiles.kinds`),
    together the duration. ``symptoms``: seconds by rule, each an upper bound, and one time may be in several.
    ``script``: what ran, where it is told.
    """

    profiler: str
    duration_s: float
    is_sampled: bool
    what: str
    rows: tuple[Row, ...]
    kinds: dict[str, float]
    symptoms: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    script: str = ""
