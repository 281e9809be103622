"""What recurrent layers that are given packed sequences take on the processor with the same sequences padded.

Packed, a layer computes each element of the sequence by calls of its own; padded ones go to oneDNN as a whole
(LSTM), or need fewer calls. What is computed for padding is part of what the copies take.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from .copies import CopyLook, Seen, copied, detached, in_turns


class PackedLook(CopyLook):
    what = "trying recurrent layers without packing"

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        return [part for model in models for part in model.modules() if isinstance(part, nn.RNNBase)]

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return bool(args) and isinstance(args[0], PackedSequence)

    def tried(self, seen: Seen) -> dict[str, Any]:
        """A direction that reads backwards would begin in the padding: what turning its rows takes, before
        and after each layer, is part of the other way.
        """
        layer = copied(seen.module)
        (packed, *others), kwargs = detached(seen.arguments)
        padded, lengths = pad_packed_sequence(packed, batch_first=layer.batch_first)
        padded = detached(padded)
        time = 1 if layer.batch_first else 0
        is_turned = layer.bidirectional and bool(lengths.min() < lengths.max())

        def without_packing() -> Any:
            output, state = layer(turned(padded, lengths, time) if is_turned else padded, *others, **kwargs)
            for _ in range(layer.num_layers if is_turned else 0):
                output = turned(output, lengths, time)
            return output, state

        took = in_turns(
            (layer, lambda: layer(packed, *others, **kwargs)),
            (layer, without_packing),
            with_graph=seen.with_graph,
        )
        return took | {"turned": is_turned}


def turned(rows: Tensor, lengths: Tensor, time: int = 1) -> Tensor:
    """Each row backwards within its length; what follows stays. ``rows``: (batch, time, features), or (time,
    batch, features) with a ``time`` of 0.
    """
    positions, ends = torch.arange(rows.size(time)), lengths[:, None]
    index = torch.where(positions < ends, ends - 1 - positions, positions)
    return rows.take_along_dim((index if time == 1 else index.T)[..., None], time)
