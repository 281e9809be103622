"""Tensors that are moved to the device, or converted to another type, again and
again although they have not changed.

A tensor counts as the same while the Python object lives: addresses are used again for other data.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

import torch

from ..overridden import ours, told_of
from ..patching import Patches
from ..places import Place, Places

_METHODS = ("to", "cuda", "float", "double", "half", "bfloat16")
_TENSORS_AT_MOST = 10_000


class _Move(NamedTuple):
    kind: str  # device or dtype
    dtype: torch.dtype
    device: torch.device


class _Seen(NamedTuple):
    tensor: weakref.ref[torch.Tensor]
    version: int
    step: int


class Uploads:
    """Watches the methods that move and convert, while a profiler of ours records."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._step = 0
        self._seen: dict[tuple[int, _Move], _Seen] = {}
        self._repeated: dict[tuple[Place, str, int], list[int]] = {}  # by place, kind and bytes: calls, ns
        self._patches = Patches()

    def install(self) -> None:
        for name in _METHODS:
            self._patches.replace(torch.Tensor, name, self._watching(getattr(torch.Tensor, name)))

    def remove(self) -> None:
        self._patches.restore()

    def step_ended(self) -> None:
        self._step += 1

    def facts(self, steps: float) -> list[dict[str, Any]]:
        return [
            {
                **place._asdict(),
                "per_step": count / steps,
                "bytes": size,
                "ms_per_step": total_ns / 1e6 / steps,
                "kind": kind,
            }
            for (place, kind, size), (count, total_ns) in self._repeated.items()
        ]

    def _watching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = torch.compiler.is_compiling

        @ours
        def move(tensor: Any, /, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(tensor, *args, **kwargs)
            call = told_of(original, (tensor, *args))
            begin = perf_counter_ns()
            moved = call(tensor, *args, **kwargs)
            if moved is not tensor:
                took = perf_counter_ns() - begin
                # there are tensors without version or weak references
                with contextlib.suppress(Exception), torch._C.DisableTorchFunction():
                    self._notice(tensor, moved, took, sys._getframe(1))
            return moved

        return move

    def _notice(self, tensor: torch.Tensor, moved: torch.Tensor, took_ns: int, frame: Any) -> None:
        changes_device = moved.device != tensor.device
        if (changes_device and moved.device.type == "cpu") or not (
            changes_device or moved.dtype != tensor.dtype
        ):
            return
        move = _Move("device" if changes_device else "dtype", moved.dtype, moved.device)
        key = id(tensor), move
        seen = self._seen.get(key)
        if seen is None or seen.tensor() is not tensor or seen.version != tensor._version:
            if len(self._seen) < _TENSORS_AT_MOST:
                self._seen[key] = _Seen(weakref.ref(tensor), tensor._version, self._step)
        elif seen.step < self._step:
            row = self._repeated.setdefault((self._places.nearest(frame), move.kind, tensor.nbytes), [0, 0])
            row[0] += 1
            row[1] += took_ns
