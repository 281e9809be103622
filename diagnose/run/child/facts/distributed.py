"""What of torch.distributed the script uses."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Iterable
from types import FrameType
from typing import Any

import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel

from ..guard import guarded
from ..patching import Patches
from ..places import NOWHERE, Place, Places


class Distributed:
    """Notices the modules that spread a model over devices, where they are made."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._made: list[tuple[weakref.ref[torch.nn.Module], Place]] = []
        self._patches = Patches()

    def install(self) -> None:
        for cls in (DistributedDataParallel, DataParallel):
            self._patches.replace(cls, "__init__", self._noticing(cls.__init__))

    def remove(self) -> None:
        self._patches.restore()

    def facts(self, called: Iterable[torch.nn.Module]) -> dict[str, Any]:
        """`called`: modules that the script calls, some of which may have been made before we came."""
        alive = [(module, place) for known, place in self._made if (module := known()) is not None]
        seen = {id(module) for module, _ in alive}
        alive += [(module, NOWHERE) for module in called if id(module) not in seen]
        return {
            "ddp": [
                _ddp_facts(module, place)
                for module, place in alive
                if isinstance(module, DistributedDataParallel)
            ],
            "data_parallel": any(isinstance(module, DataParallel) for module, _ in alive),
            "process_group": _process_group(),
        }

    def _noticing(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(module: torch.nn.Module, /, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self._remember(module, sys._getframe(1))

        return __init__

    @guarded("watching where models are spread")
    def _remember(self, module: torch.nn.Module, frame: FrameType) -> None:
        self._made.append((weakref.ref(module), self._places.nearest(frame)))


def _ddp_facts(module: Any, place: Place) -> dict[str, Any]:
    cap = getattr(module, "bucket_bytes_cap", None)
    return {
        "find_unused_parameters": bool(module.find_unused_parameters),
        "bucket_cap_mb": cap / 2**20 if cap else None,
        "static_graph": bool(getattr(module, "static_graph", False)),
        "parameter_bytes": sum(
            parameter.numel() * parameter.element_size() for parameter in module.parameters()
        ),
        **place._asdict(),
    }


def _process_group() -> dict[str, Any] | None:
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return None
    return {
        "backend": distributed.get_backend(),
        "world_size": distributed.get_world_size(),
        "rank": distributed.get_rank(),
    }
