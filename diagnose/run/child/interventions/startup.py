"""Fixes that have to be in the environment before Python starts.

`fixes/environment.py` puts them there; here is seen what came of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from .. import accelerator
from ..loaded import is_loaded
from .base import Intervention, Sites

BEFORE = "DIAGNOSE_ENVIRONMENT_BEFORE"  # what the variables that were changed were before, as JSON
_KEEPS = "MALLOC_TRIM_THRESHOLD_"  # of glibc's malloc
PACKAGES = {"jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4", "omp": "libomp5"}  # Debian's


def before(name: str) -> str | None:
    """A variable as the script's environment had it; None if it had none."""
    try:
        changed: dict[str, str | None] = json.loads(os.environ.get(BEFORE, "{}"))
    except ValueError:
        changed = {}
    return changed[name] if name in changed else os.environ.get(name)


class Allocator(Intervention):
    """Another allocator of host memory, loaded before everything else; or glibc's, which keeps what is
    freed.
    """

    def __init__(self, sites: Sites, *, library: str) -> None:
        super().__init__(sites)
        self._library = library

    @property
    def held(self) -> int:
        return int(not self.why_not)

    @property
    def why_not(self) -> str:
        if self._library != "glibc":
            return _not_preloaded(self._library)
        if is_loaded("jemalloc") or is_loaded("tcmalloc"):
            return "The process uses another allocator."
        if before(_KEEPS) is not None:
            return "It is already so."
        return "" if _KEEPS in os.environ else "The environment of the process does not ask for it."


class OpenMP(Intervention):
    """OpenMP's threads are bound to cores, wait for work in another way, or are those of another library.

    Its runtime reads the variables once, when it is loaded.
    """

    _RUNTIMES = ("gomp", "iomp5", "omp")
    _KNOW_KMP = ("iomp5", "omp")  # variables of that name

    def __init__(
        self,
        sites: Sites,
        *,
        library: str | None = None,
        bind: str | None = None,
        places: str | None = None,
        wait: str | None = None,
        block_ms: int | None = None,
    ) -> None:
        super().__init__(sites)
        self._library = library
        self._variables = {
            name: str(value)
            for name, value in (
                ("OMP_PROC_BIND", bind),
                ("OMP_PLACES", places),
                ("OMP_WAIT_POLICY", wait),
                ("KMP_BLOCKTIME", block_ms),
            )
            if value is not None
        }

    @property
    def held(self) -> int:
        return int(not self.why_not)

    @property
    def why_not(self) -> str:
        if self._library and (reason := _not_preloaded(self._library)):
            return reason
        if not any(map(is_loaded, self._RUNTIMES)):
            return "torch computes without OpenMP here."
        if (
            all(name.startswith("KMP_") for name in self._variables)
            and self._variables
            and not any(map(is_loaded, self._KNOW_KMP))
        ):
            return f"torch computes with GNU's OpenMP here, which does not know {', '.join(self._variables)}."
        if any(os.environ.get(name) != value for name, value in self._variables.items()):
            return "The environment of the process does not ask for it."
        if not self._library and all(before(name) == value for name, value in self._variables.items()):
            return "It is already so."
        return ""


def _not_preloaded(library: str) -> str:
    """Why a library is not there in the place of another one, in a sentence; empty if it is."""
    loaded = is_loaded(library)
    if loaded and library in (before("LD_PRELOAD") or ""):
        return f"The process uses {library} already."
    if library not in os.environ.get("LD_PRELOAD", ""):
        if loaded:
            return f"The process uses {library} already."
        return f"{library} is not installed; Debian's package is {PACKAGES.get(library, 'unknown')}."
    return "" if loaded else f"{library} was not loaded, although LD_PRELOAD names it."


class ExpandableSegments(Intervention):
    """torch's CUDA allocator grows its segments instead of adding more."""

    @property
    def held(self) -> int:
        return int(not self._already and accelerator.kind_in_use() == "cuda" and _expandable(os.environ.get))

    @property
    def why_not(self) -> str:
        if self.held:
            return ""
        if self._already:
            return "It is already so."
        return (
            "The script did not use a CUDA GPU."
            if _expandable(os.environ.get)
            else "The environment of the process does not ask for it."
        )

    @property
    def _already(self) -> bool:
        return _expandable(before)


def _expandable(variable: Callable[[str], str | None]) -> bool:
    return "expandable_segments:True" in (
        variable("PYTORCH_ALLOC_CONF") or variable("PYTORCH_CUDA_ALLOC_CONF") or ""
    )


class LaunchBlockingOff(Intervention):
    """CUDA_LAUNCH_BLOCKING is not there when CUDA starts."""

    idle = "CUDA_LAUNCH_BLOCKING was not set."
    _NAME = "CUDA_LAUNCH_BLOCKING"

    def install(self) -> None:
        self.count = int(_is_on(before(self._NAME)))
        os.environ.pop(self._NAME, None)
        environment = type(os.environ)
        self.patches.replace(environment, "__setitem__", self._leaving_out(environment.__setitem__))

    def tick(self, number: int) -> None:
        if self._NAME in os.environ:  # set in a way of its own
            os.environ.pop(self._NAME)

    def _leaving_out(self, original: Callable[..., None]) -> Callable[..., None]:
        def __setitem__(environment: Any, name: str, value: str) -> None:
            if name != self._NAME:
                return original(environment, name, value)
            self.count += _is_on(value)

        return __setitem__


def _is_on(value: str | None) -> bool:
    return value not in (None, "", "0")
