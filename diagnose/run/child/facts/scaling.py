"""How often a GradScaler refused the optimizer's step in the plain phase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..guard import guarded
from ..patching import Patches


class Scaling:
    """Counts the scaler's steps, and those that the optimizer did not get."""

    def __init__(self) -> None:
        self._optimizer_steps = 0
        self._patches = Patches()

    def begin(self) -> None:
        self._steps = self._skipped = 0
        self._told_on_host = True  # a fused optimizer decides on the GPU
        self._patches.replace(GradScaler, "step", self._counting(GradScaler.step))

    def stop(self) -> None:
        self._patches.restore()

    def facts(self, steps: int) -> dict[str, Any]:
        if not self._steps:
            return {}
        return {
            "grad_scaler": {
                "step_count": self._steps,
                "skipped_count": self._skipped if self._told_on_host else None,
            }
        }

    def _counting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not scaler.is_enabled():
                return original(scaler, optimizer, *args, **kwargs)
            before, hook = self._optimizer_steps, self._begin_step(optimizer)
            try:
                result = original(scaler, optimizer, *args, **kwargs)
            finally:
                if hook is not None:
                    hook.remove()
            self._skipped += self._optimizer_steps == before
            return result

        return step

    @guarded("counting the steps of a GradScaler")
    def _begin_step(self, optimizer: Any) -> Any:
        self._steps += 1
        self._told_on_host &= not getattr(optimizer, "_step_supports_amp_scaling", False)
        # only here: other scripts are not to pay for it
        return register_optimizer_step_post_hook(self._optimizer_stepped)

    @guarded("counting the steps of an optimizer")
    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._optimizer_steps += 1
