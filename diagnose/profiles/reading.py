"""The formats of profiles and tables, told by a file's first bytes, and how much of a file may be read."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from diagnose.errors import TraceUnreadable, UsageError

if TYPE_CHECKING:
    from diagnose.profiles.ncu import Counters
    from diagnose.profiles.table import Profile

START_BYTES = 512  # of a file are looked at


class Reader(Protocol):
    """What the module of a format holds."""

    @staticmethod
    def read(content: bytes) -> Profile | Counters:
        """Raises `marshalled.Malformed`."""


class ProfileFormat(NamedTuple):
    """``begins``: a regular expression for the first bytes; ``again``: how to record one."""

    name: str
    begins: bytes
    module: str
    again: str


FORMATS = (
    ProfileFormat(
        "a profile of cProfile",
        rb"[{\xfb]([)\xa9]\x03|0$)",
        "diagnose.profiles.cprofile",
        "python -m cProfile -o train.prof train.py",
    ),
    ProfileFormat(
        "a speedscope profile",
        rb"\s*\{.{0,400}https://www\.speedscope\.app/file-format-schema\.json",
        "diagnose.profiles.speedscope",
        "py-spy record -f speedscope -o train.speedscope.json -- python train.py",
    ),
    ProfileFormat(
        "a profile of Scalene",
        rb'\s*\{\s*"(alloc_samples|elapsed_time_sec)"\s*:',
        "diagnose.profiles.scalene",
        "scalene run --cpu-only --outfile scalene.json train.py",
    ),
    ProfileFormat(
        "a report of Lightning's profiler",
        rb"(\s*[A-Z]{3,12} )?\s*Profiler? Report\b|\s*([A-Z]{3,12} )?Profile stats for: ",
        "diagnose.profiles.lightning",
        'Trainer(profiler=SimpleProfiler(dirpath=".", filename="profile"))',
    ),
    ProfileFormat(
        "a table of Nsight Compute",
        rb'\s*("ID","Process ID"|"ID","Kernel Name"|==(PROF|WARNING|ERROR)== )',
        "diagnose.profiles.ncu",
        "ncu --set basic --csv --page raw --log-file ncu.csv python train.py",
    ),
)
_KNOWN = [(re.compile(known.begins, re.DOTALL), known) for known in FORMATS]
_GROWS = 40  # times the file: what reading it takes, at most


def profile_format(start: bytes) -> ProfileFormat | None:
    """The format of a file that begins like this; None if it is none of these."""
    start = start[:START_BYTES]
    return next((known for begins, known in _KNOWN if begins.match(start)), None)


def read_profile(path: Path, memory_limit: int | None = None) -> Profile | Counters:
    """What the file's module makes of it. Raises UsageError for a file too large, TraceUnreadable for one
    that is damaged.
    """
    from diagnose.profiles.marshalled import Malformed
    from diagnose.trace.memory import limit_for

    try:
        limit_for(path, _GROWS, memory_limit, "record for a shorter time")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", saw=str(error)) from error
    known = profile_format(content[:START_BYTES])
    if known is None:
        raise TraceUnreadable(f"{path} is no profile that can be read")
    try:
        return cast(Reader, importlib.import_module(known.module)).read(content)
    except Malformed as error:
        raise TraceUnreadable(
            f"{path} is {known.name} that is damaged or cut",
            saw=str(error),
            do=f"Record it again: {known.again}",
        ) from error
