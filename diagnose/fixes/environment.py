"""What some fixes need in the environment before Python starts.

The child's side: `run/child/interventions/startup.py`.
"""

from __future__ import annotations

import ctypes.util
import glob
import os
import re
import sys
from collections.abc import Mapping

from diagnose.fixes.fix import Arguments, Changes

_ALLOCATORS = {"jemalloc": ("jemalloc",), "tcmalloc": ("tcmalloc", "tcmalloc_minimal")}
_FOLDERS = (
    os.path.join(sys.prefix, "lib"),
    "/usr/local/lib",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)


def threads(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    count = str(arguments["count"])
    return {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}


def allocator(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    library, loaded = arguments["library"], environment.get("LD_PRELOAD", "")
    path = _installed(library)
    if path is None or library in loaded:
        return {}
    return {"LD_PRELOAD": f"{path}:{loaded}" if loaded else path}


def expandable_segments(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    # the second is the only one that torch before 2.9 knows
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    given = next((environment[name] for name in names if environment.get(name)), "")
    kept = re.sub(r"(^|,)\s*expandable_segments:[^,]*", "", given).strip(",")
    return dict.fromkeys(names, f"{kept},expandable_segments:True".lstrip(","))


def no_launch_blocking(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    return {"CUDA_LAUNCH_BLOCKING": None} if "CUDA_LAUNCH_BLOCKING" in environment else {}


def _installed(library: str) -> str | None:
    """Where the library is installed, or the name by which the dynamic linker
    finds it; None if it is not installed.
    """
    for name in _ALLOCATORS.get(library, ()):
        for folder in _FOLDERS:
            found = sorted(glob.glob(os.path.join(folder, f"lib{name}.so*")))
            if found:
                return found[-1]
        known = ctypes.util.find_library(name)
        if known:
            return known
    return None
