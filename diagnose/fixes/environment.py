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

_LIBRARIES = {
    "jemalloc": ("jemalloc",),
    "tcmalloc": ("tcmalloc", "tcmalloc_minimal"),
    "iomp5": ("iomp5",),  # Intel's OpenMP
    "omp": ("omp",),  # LLVM's
}
_OPENMP = {
    "bind": "OMP_PROC_BIND",
    "places": "OMP_PLACES",
    "wait": "OMP_WAIT_POLICY",
    "block_ms": "KMP_BLOCKTIME",
}
CORES = "DIAGNOSE_CORES"  # the child's `cores` reads it; who starts the script by hand binds it by `taskset`
_OTHER_BINDINGS = ("GOMP_CPU_AFFINITY", "KMP_AFFINITY")  # each runtime's own, which win over OMP_PROC_BIND
_FOLDERS = (
    os.path.join(sys.prefix, "lib"),
    "/usr/local/lib",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)


def affinity(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    return {CORES: ",".join(map(str, arguments["cores"]))}


def threads(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    count = str(arguments["count"])
    return {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}


# everything from the heap, and nothing of it given back
_KEEPS = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**34)}


def allocator(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    if arguments["library"] == "glibc":
        return dict(_KEEPS)
    return _preloaded(arguments["library"], environment)


def openmp(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    changes: Changes = {
        variable: str(arguments[name])
        for name, variable in _OPENMP.items()
        if arguments.get(name) is not None
    }
    if arguments.get("bind") is not None:
        changes |= {name: None for name in _OTHER_BINDINGS if name in environment}
    library = arguments.get("library")
    return changes | (_preloaded(library, environment) if library else {})


def expandable_segments(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    # the second is the only one that torch before 2.9 knows
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    given = next((environment[name] for name in names if environment.get(name)), "")
    kept = re.sub(r"(^|,)\s*expandable_segments:[^,]*", "", given).strip(",")
    return dict.fromkeys(names, f"{kept},expandable_segments:True".lstrip(","))


def no_launch_blocking(arguments: Arguments, environment: Mapping[str, str]) -> Changes:
    return {"CUDA_LAUNCH_BLOCKING": None} if "CUDA_LAUNCH_BLOCKING" in environment else {}


def _preloaded(library: str, environment: Mapping[str, str]) -> Changes:
    path, loaded = installed(library), environment.get("LD_PRELOAD", "")
    if path is None or library in loaded:
        return {}
    return {"LD_PRELOAD": f"{path}:{loaded}" if loaded else path}


def installed(library: str) -> str | None:
    """Where one of `_LIBRARIES` is installed, or the name by which the dynamic linker finds it;
    None if it is not installed.
    """
    for name in _LIBRARIES.get(library, ()):
        for folder in _FOLDERS:
            found = sorted(glob.glob(os.path.join(folder, f"lib{name}.so*")))
            if found:
                return found[-1]
        known = ctypes.util.find_library(name)
        if known:
            return known
    return None
