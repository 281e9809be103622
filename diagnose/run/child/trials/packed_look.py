"""What recurrent layers that are given packed sequences take on the processor with the same sequences padded.

Packed, a layer computes each element of the sequence by calls of its own; padded ones go to oneDNN as a whole
(LSTM), or need fewer calls. What is computed for padding is part of what the copies take.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from .copies import CopyLook, Seen, copied, detached, in_turns


class PackedLook(CopyLook):
    what = "trying recurrent layers without packing"

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        return [part for model in models for part in model.modules() if isinstance(part, nn.RNNBase)]

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Backwards through padding, other numbers come out."""
        is_packed = bool(args) and isinstance(args[0], PackedSequence)
        return is_packed and (not module.bidirectional or _is_full(args[0]))

    def tried(self, seen: Seen) -> dict[str, Any]:
        layer = copied(seen.module)
        (packed, *others), kwargs = detached(seen.arguments)
        padded = detached(pad_packed_sequence(packed, batch_first=layer.batch_first)[0])
        return in_turns(
            (layer, lambda: layer(packed, *others, **kwargs)),
            (layer, lambda: layer(padded, *others, **kwargs)),
            with_graph=seen.with_graph,
        )


def _is_full(packed: PackedSequence) -> bool:
    """Whether all sequences are as long as the longest."""
    return bool(packed.batch_sizes[0] == packed.batch_sizes[-1])
