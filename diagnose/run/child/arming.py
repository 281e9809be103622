"""Waits for the script to import torch, and starts the recording or the trial then."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Sequence

NOT_ARMED = 70  # sysexits.h: EX_SOFTWARE


class _Watcher(importlib.abc.MetaPathFinder):
    """Calls back once, right after the named module has run; finds nothing itself."""

    def __init__(self, name: str, callback: Callable[[], None]) -> None:
        self.name, self.callback = name, callback

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find else None
            if spec is not None:
                if spec.loader is not None:
                    self._call_after_execution(spec.loader)
                sys.meta_path.remove(self)
                return spec
        return None

    def _call_after_execution(self, loader: importlib.abc.Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            del loader.exec_module  # the loader is itself again
            execute(module)
            self.callback()

        loader.exec_module = exec_module  # type: ignore[method-assign]


def arm() -> None:
    """Begin as soon as torch is there."""
    if "torch" in sys.modules:
        _begin()
    else:
        sys.meta_path.insert(0, _Watcher("torch", _begin))


def _begin() -> None:
    import json  # not in every Python process of the run, only in those that import torch

    from .live import Live

    plan: dict = {}
    try:
        plan = json.loads(os.environ["DIAGNOSE_PLAN"])
        Live(plan["folder"], plan.get("node", 0)).set_torch_imported()
        if "trial" in plan:
            from .trial import begin
        else:
            from .session import begin
        begin(plan)
    except Exception as error:
        sys.stderr.write(f"diagnose: nothing will be recorded: {error!r}\n")
        if "trial" in plan:
            os._exit(NOT_ARMED)
        # a script that is to be recorded must run, with or without us
