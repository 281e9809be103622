"""What the fixes of a verified run need in the environment before Python starts.

The child's side: child/interventions/startup.py.
"""

from __future__ import annotations

import ctypes.util
import glob
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

BEFORE = "DIAGNOSE_ENVIRONMENT_BEFORE"  # tells the child what the variables that are changed were
_ALLOCATORS = {"jemalloc": ("jemalloc",), "tcmalloc": ("tcmalloc", "tcmalloc_minimal")}
_FOLDERS = (
    os.path.join(sys.prefix, "lib"),
    "/usr/local/lib",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)

Changes = dict[str, str | None]  # None: to be removed


def environment_of(specs: list[dict[str, Any]], environment: Mapping[str, str]) -> Changes:
    """The variables to set, and with None those to remove, for these
    interventions; empty if they need none.
    """
    changes: Changes = {}
    for spec in specs:
        wanted = _NEEDS.get(spec["name"])
        if wanted is not None:
            changes |= wanted(spec.get("arguments", {}), environment)
    if changes:
        changes[BEFORE] = json.dumps({name: environment.get(name) for name in changes})
    return changes


def _threads(arguments: dict[str, Any], environment: Mapping[str, str]) -> Changes:
    count = str(arguments["count"])
    return {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}


def _allocator(arguments: dict[str, Any], environment: Mapping[str, str]) -> Changes:
    library, loaded = arguments["library"], environment.get("LD_PRELOAD", "")
    path = allocator_path(library)
    if path is None or library in loaded:
        return {}
    return {"LD_PRELOAD": f"{path}:{loaded}" if loaded else path}


def _expandable_segments(arguments: dict[str, Any], environment: Mapping[str, str]) -> Changes:
    # the second is the only one that torch before 2.9 knows
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    given = next((environment[name] for name in names if environment.get(name)), "")
    kept = re.sub(r"(^|,)\s*expandable_segments:[^,]*", "", given).strip(",")
    return dict.fromkeys(names, f"{kept},expandable_segments:True".lstrip(","))


def _no_launch_blocking(arguments: dict[str, Any], environment: Mapping[str, str]) -> Changes:
    return {"CUDA_LAUNCH_BLOCKING": None} if "CUDA_LAUNCH_BLOCKING" in environment else {}


_NEEDS: dict[str, Callable[[dict[str, Any], Mapping[str, str]], Changes]] = {
    "threads": _threads,
    "allocator": _allocator,
    "expandable_segments": _expandable_segments,
    "launch_blocking_off": _no_launch_blocking,
}


def allocator_path(library: str) -> str | None:
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
