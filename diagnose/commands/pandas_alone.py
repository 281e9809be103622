"""`import pandas` without pyarrow, which pandas loads where it finds it, and nothing here needs: 35 MiB and a
third of the import's time (pandas 3.1, pyarrow 22). For processes of our own only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what it imports in turn takes longer than all else here
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object

LEFT_OUT = "pyarrow"


def import_pandas_alone() -> None:
    """When it is imported next; what imports pyarrow itself afterwards finds it."""
    if "pandas" not in sys.modules and LEFT_OUT not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "pandas":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Alone(spec.loader)
        return spec


class _Alone(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[LEFT_OUT] = None  # type: ignore[assignment]  # what Python takes for: there is none
        try:
            self._loader.exec_module(module)
        finally:
            del sys.modules[LEFT_OUT]
            module.__loader__ = self._loader
            if module.__spec__ is not None:
                module.__spec__.loader = self._loader
