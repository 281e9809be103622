"""Waits for the script to import torch, and starts the recording or the trial then."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import sys
import types
from _thread import get_ident
from collections.abc import Callable, Sequence

from .cores import bind

NOT_ARMED = 70  # sysexits.h: EX_SOFTWARE


class _Watcher(importlib.abc.MetaPathFinder):
    """Calls back once, right after the named module has run; finds nothing itself.

    Libraries look a module up long before they import it, or never do (`importlib.util.find_spec`), and an
    import can fail half-way and be tried again. So it watches until the module has run. Where another finder
    or loader bypasses it, the next import of anything tells.
    """

    def __init__(self, name: str, callback: Callable[[], None]) -> None:
        self.name, self._callback = name, callback
        self._looking: set[int] = set()  # threads that ask the other finders right now
        self._executing = 0
        self._over = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self._over:
            return None
        if fullname != self.name:
            if self._has_run_unseen():
                self._call_back()
            return None
        thread = get_ident()
        if thread in self._looking:  # another finder asks all others in turn
            return None
        self._looking.add(thread)
        try:
            spec = self._found_by_others(fullname, path, target)
        finally:
            self._looking.discard(thread)
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        """What would be found without us; the finders before this one have been asked already."""
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :] if self in finders else finders:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find else None
            if spec is not None:
                return spec
        return None

    def _watch(self, loader: importlib.abc.Loader) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(execute, _Execution):
            return
        try:
            loader.exec_module = _Execution(self, loader, execute)  # type: ignore[method-assign]
        except AttributeError:  # one that cannot be changed
            return

    def execute(self, execute: Callable[[types.ModuleType], None], module: types.ModuleType) -> None:
        """Run the module, and call back if it is the one and nothing is raised."""
        self._executing += 1
        try:
            execute(module)
        finally:
            self._executing -= 1
        if module.__name__ == self.name and not self._over:
            self._call_back()
            if self in sys.meta_path:
                sys.meta_path.remove(self)

    def _has_run_unseen(self) -> bool:
        module = sys.modules.get(self.name)
        if (
            type(module) is not types.ModuleType or self._executing
        ):  # none, one that will be loaded when it is used, or half of one
            return False
        return module.__spec__ is not None and not getattr(module.__spec__, "_initializing", False)

    def _call_back(self) -> None:
        """In the midst of a look-up this finder stays where it is: taken out, it would
        make the import pass over the next one.
        """
        self._over = True
        self._callback()


class _Execution:
    """Stands for a loader's `exec_module` until the module runs; then the loader is itself again."""

    def __init__(
        self, watcher: _Watcher, loader: importlib.abc.Loader, execute: Callable[[types.ModuleType], None]
    ) -> None:
        self._watcher, self._loader, self._execute = watcher, loader, execute

    def __call__(self, module: types.ModuleType) -> None:
        if vars(self._loader).get("exec_module") is self:
            del self._loader.exec_module
        self._watcher.execute(self._execute, module)


def arm() -> None:
    """Begin as soon as torch is there; how the process is bound to cores is settled before."""
    bind()
    if "torch" in sys.modules:
        _begin()
    else:
        sys.meta_path.insert(0, _Watcher("torch", _begin))


def _begin() -> None:
    import json  # not in every Python process of the run, only in those that import torch

    from .launcher import is_gone
    from .shared_state import SharedState

    plan: dict = {}
    try:
        plan = json.loads(os.environ["DIAGNOSE_PLAN"])
        if is_gone(plan.get("launcher")):
            return
        SharedState(plan["folder"], plan.get("node", 0)).set_torch_imported()
        if "trial" in plan:
            from .trial import begin
        else:
            from .session import begin
        begin(plan)
    except Exception as error:
        with contextlib.suppress(Exception):  # there may be no such stream
            sys.stderr.write(f"diagnose: nothing will be recorded: {error!r}\n")
        if "trial" in plan:
            os._exit(NOT_ARMED)
        # a script that is to be recorded must run, with or without us
