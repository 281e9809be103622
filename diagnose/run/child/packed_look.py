"""What recurrent layers that are given packed sequences take on the processor with the same sequences padded.

Packed, a layer computes each element of the sequence by calls of its own; padded ones go to oneDNN as a whole
(LSTM), or need fewer calls. What is computed for padding is part of what the copies take.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from . import accelerator
from .copies import copied, detached, in_turns
from .guard import guarded
from .inspection import compiler_in_use
from .models import CallCounts
from .patching import Patches
from .places import Place, Places

_LAYERS_AT_MOST = 4


@dataclass
class _Seen:
    """A layer's calls at a line in the step; the first one's arguments."""

    layer: nn.RNNBase
    place: Place
    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    with_graph: bool
    count: int = 1


class PackedLook:
    """`begin` at a border between two steps, `step` at the next one."""

    what = "trying recurrent layers without packing"

    def __init__(
        self,
        calls: CallCounts,
        places: Places,
        place_for: Callable[[str], tuple[Any, str]],
        uncounted: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        """``uncounted``: a context in which the clock counts no forwards."""
        self._calls, self._places = calls, places
        self._place_for, self._uncounted = place_for, uncounted
        self._patches = Patches()
        self._seen: dict[tuple[int, Place], _Seen] = {}
        self.facts: list[dict[str, Any]] | None = None

    def begin(self) -> bool:
        """Whether a model has recurrent layers on the processor."""
        if accelerator.devices() or compiler_in_use() or torch.is_autocast_enabled("cpu"):
            return False
        parts = (part for model, _ in self._calls.models() for part in model.modules())
        if not any(isinstance(part, nn.RNNBase) for part in parts):
            return False
        self._seen, self._pid = {}, os.getpid()
        owner, name = self._place_for("forward")
        self._patches.replace(owner, name, self._seeing(getattr(owner, name)))
        return True

    def step(self) -> bool:
        """The step has ended: try what was seen in it."""
        self._patches.restore()
        seen, self._seen = list(self._seen.values()), {}
        self.facts = []
        counts_backward = self._place_for("backward")[1] == "backward"  # the clock, and the copies' too
        for calls in seen:
            if calls.with_graph and counts_backward:
                continue
            with contextlib.suppress(Exception), self._uncounted():  # a kind of layer that cannot be copied
                self.facts.append(_tried(calls))
        return True

    def end(self) -> None:
        """Harmless when repeated."""
        self._patches.restore()
        self._seen = {}

    def _seeing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*args: Any, **kwargs: Any) -> Any:
            if isinstance(args[0], nn.RNNBase) and len(args) > 1 and isinstance(args[1], PackedSequence):
                self._see(args, kwargs, sys._getframe(1))
            return original(*args, **kwargs)

        return forward

    @guarded("looking at recurrent layers")
    def _see(self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> None:
        if os.getpid() != self._pid or (args[0].bidirectional and not _is_full(args[1])):
            return  # backwards through padding, other numbers come out
        place = self._places.nearest(frame)
        known = self._seen.get((id(args[0]), place))
        if known is not None:
            known.count += 1
        elif len(self._seen) < _LAYERS_AT_MOST:
            seen = _Seen(args[0], place, (args[1:], kwargs), torch.is_grad_enabled())
            self._seen[id(args[0]), place] = seen


def _is_full(packed: PackedSequence) -> bool:
    """Whether all sequences are as long as the longest."""
    return bool(packed.batch_sizes[0] == packed.batch_sizes[-1])


def _tried(seen: _Seen) -> dict[str, Any]:
    """Calls of copies with their backward, packed and padded. Raises whatever the layer does."""
    layer = copied(seen.layer)
    (packed, *others), kwargs = detached(seen.arguments)
    padded = detached(pad_packed_sequence(packed, batch_first=layer.batch_first)[0])
    told = in_turns(
        (layer, lambda: layer(packed, *others, **kwargs)),
        (layer, lambda: layer(padded, *others, **kwargs)),
        with_graph=seen.with_graph,
    )
    return {**seen.place._asdict(), "call_count": seen.count, **told}
