"""Switches of torch's backends."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.backends import ContextProp

from ..accelerator import kind_in_use
from .base import Intervention, Sites, given


class _Flag(NamedTuple):
    read: Callable[[], Any]
    write: Callable[[Any], None]


def _attribute(owner: Any, name: str) -> _Flag:
    return _Flag(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


_CUDA = torch.backends.cuda
_SDP = [
    name
    for name in ("flash_sdp", "mem_efficient_sdp", "cudnn_sdp", "math_sdp")
    if hasattr(_CUDA, f"{name}_enabled")
]
_FLAGS = {
    "cudnn_benchmark": [_attribute(torch.backends.cudnn, "benchmark")],
    "matmul_precision": [_Flag(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision)],
    "allow_tf32": [_attribute(_CUDA.matmul, "allow_tf32"), _attribute(torch.backends.cudnn, "allow_tf32")],
    **{name: [_Flag(getattr(_CUDA, f"{name}_enabled"), getattr(_CUDA, f"enable_{name}"))] for name in _SDP},
}
_FOR_GPUS = ("cudnn_benchmark", "allow_tf32", "cudnn_sdp", "mem_efficient_sdp")  # and of no effect elsewhere
_SETTERS = [
    (ContextProp, "__set__"),  # of torch.backends.cudnn
    (type(_CUDA.matmul), "__setattr__"),
    (torch, "set_float32_matmul_precision"),
    *((_CUDA, f"enable_{name}") for name in _SDP),
]


class BackendFlags(Intervention):
    """Keeps them as wanted, and knows what they would be without us."""

    def __init__(
        self,
        sites: Sites,
        *,
        allow_tf32: bool | None = None,
        cudnn_benchmark: bool | None = None,
        cudnn_sdp: bool | None = None,
        flash_sdp: bool | None = None,
        math_sdp: bool | None = None,
        matmul_precision: str | None = None,
        mem_efficient_sdp: bool | None = None,
    ) -> None:
        super().__init__(sites)
        wanted = given(
            allow_tf32=allow_tf32,
            cudnn_benchmark=cudnn_benchmark,
            cudnn_sdp=cudnn_sdp,
            flash_sdp=flash_sdp,
            math_sdp=math_sdp,
            matmul_precision=matmul_precision,
            mem_efficient_sdp=mem_efficient_sdp,
        )
        self._flags = {name: _FLAGS[name] for name in wanted}
        self._wanted = {flag: wanted[name] for name, flags in self._flags.items() for flag in flags}
        self._own: dict[_Flag, Any] = {}  # the script's values
        self._writing = False
        self._held_at_end: int | None = None

    @property
    def held(self) -> int:
        """How many of them are as wanted, now or when we were removed, and would not be without us."""
        if self.refused:
            return 0
        return self._in_force() if self._held_at_end is None else self._held_at_end

    @property
    def why_not(self) -> str:
        if self.refused or self.held:
            return self._reason
        if self._own == self._wanted:
            return "It is already so."
        if all(name in _FOR_GPUS for name in self._flags) and kind_in_use() != "cuda":
            return "The script did not use a CUDA GPU."
        return "The script has changed it since."

    def install(self) -> None:
        self._guarded(lambda: self._own.update((flag, flag.read()) for flag in self._wanted))
        self._guarded(lambda: self._write(self._wanted))
        for owner, name in _SETTERS:
            self.patches.replace(owner, name, self._as_without_us(getattr(owner, name)))

    def tick(self, number: int) -> None:
        """The script may have ways of its own to change them."""
        if not self.refused:
            self._guarded(self._insist)

    def remove(self) -> None:
        if self._held_at_end is None:
            self._held_at_end = self.held
            self.patches.restore()
            self._guarded(lambda: self._write(self._own))

    def _insist(self) -> None:
        for flag, value in self._wanted.items():
            now = flag.read()
            if now != value:
                self._own[flag] = now
                self._write({flag: value})

    def _in_force(self) -> int:
        wanted, own = self._wanted, self._own
        return sum(
            all(flag.read() == wanted[flag] for flag in flags)
            and any(own[flag] != wanted[flag] for flag in flags)
            for name, flags in self._flags.items()
            if name not in _FOR_GPUS or kind_in_use() == "cuda"
        )

    def _as_without_us(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The script's own values are back while it sets one of them."""

        @functools.wraps(original)
        def setter(*args: Any, **kwargs: Any) -> Any:
            if self._writing or self.refused:
                return original(*args, **kwargs)
            self._guarded(lambda: self._write(self._own))
            try:
                return original(*args, **kwargs)
            finally:
                self._guarded(lambda: self._own.update((flag, flag.read()) for flag in self._wanted))
                self._guarded(lambda: self._write(self._wanted))

        return setter

    def _write(self, values: dict[_Flag, Any]) -> None:
        self._writing = True
        try:
            for flag, value in values.items():
                flag.write(value)
        finally:
            self._writing = False

    def _guarded(self, action: Callable[[], None]) -> None:
        """torch raises where its older and newer settings of the same thing are mixed."""
        if self.refused:
            return
        try:
            action()
        except Exception as error:
            self.refuse(f"torch refuses it: {str(error).partition('. ')[0]}")
