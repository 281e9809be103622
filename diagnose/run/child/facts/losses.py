"""The losses of a phase: what backward was called on.

References are kept and read when the phase is over, so no step waits.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler

from ..guard import guarded
from ..inspection import compiler_in_use
from ..patching import Patches

_AT_MOST = 200
_NUMBER_BYTES = 8  # the largest


class Losses:
    """`place_for` gives the attribute to wrap for backward, which the clock may have wrapped already."""

    def __init__(self, place_for: Callable[[str], tuple[Any, str]], at_most: int = _AT_MOST) -> None:
        self._place_for, self._at_most = place_for, at_most
        self._patches = Patches()

    def begin(self) -> None:
        self._kept: list[tuple[torch.Tensor, int]] = []  # with the version, to notice a later change
        self._unscaled: tuple[weakref.ref[torch.Tensor], torch.Tensor] | None = None
        self._copies = compiler_in_use()  # graphs may write every loss to the same memory
        owner, name = self._place_for("backward")
        self._patches.replace(owner, name, self._keeping(getattr(owner, name)))
        self._patches.replace(GradScaler, "scale", self._noticing_scale(GradScaler.scale))

    def stop(self) -> None:
        self._patches.restore()

    def facts(self, steps: int) -> dict[str, Any]:
        kept, self._kept = self._kept, []
        if len({loss.data_ptr() for loss, _ in kept}) < len(
            kept
        ):  # all in the same memory: only the last is still there
            return {"losses": None}
        return {
            "losses": [
                loss.item() for loss, version in kept if loss._version == version and loss.is_floating_point()
            ]
            or None
        }

    def _keeping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if len(self._kept) < self._at_most and kwargs.get(
                "accumulate_grad", True
            ):  # not for torch.autograd.grad
                self._keep(tensors)
            return original(tensors, *args, **kwargs)

        return run_backward

    def _noticing_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: GradScaler, outputs: Any) -> Any:
            scaled = original(scaler, outputs)
            if isinstance(outputs, torch.Tensor):
                self._remember(scaled, outputs)
            return scaled

        return scale

    @guarded("keeping losses")
    def _remember(self, scaled: torch.Tensor, loss: torch.Tensor) -> None:
        self._unscaled = weakref.ref(scaled), loss.detach()

    @guarded("keeping losses")
    def _keep(self, tensors: Any) -> None:
        for root in tensors:
            try:
                if root.numel() != 1:
                    continue
                if self._unscaled is not None and self._unscaled[0]() is root:
                    root, self._unscaled = self._unscaled[1], None
                loss = root.detach()
                if (
                    self._copies or loss.untyped_storage().nbytes() > _NUMBER_BYTES
                ):  # as mse_loss's, which holds all the single errors
                    loss = loss.clone()
                self._kept.append((loss, loss._version))
            except Exception:  # a kind of tensor that has none of this
                continue
