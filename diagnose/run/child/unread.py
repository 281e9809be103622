"""Which results of a step are mostly not read: computed for all positions, where a few are picked.

Each value knows what it is given to. A call that picks reads as much as it gives back; one that keeps every
number where it is reads as much as is read of its own result; any other reads all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

_PICKS = {
    "__getitem__", "select", "narrow", "index_select", "gather", "take_along_dim", "masked_select", "take",
    "chunk", "split", "tensor_split", "unbind", "split_with_sizes", "unsafe_chunk", "unsafe_split",
}  # fmt: skip
_RENAMES = {
    "view", "reshape", "transpose", "permute", "squeeze", "unsqueeze", "flatten", "unflatten", "contiguous",
    "movedim", "swapaxes", "t", "view_as", "detach",
}  # fmt: skip
_ELEMENT_BY_ELEMENT = {
    "clone", "to", "float", "half", "bfloat16", "double", "relu", "gelu", "tanh", "sigmoid", "leaky_relu",
    "elu", "silu", "softplus", "exp", "log", "neg", "abs", "dropout", "add", "sub", "mul", "div", "__add__",
    "__radd__", "__sub__", "__mul__", "__rmul__", "__truediv__", "true_divide", "pow", "__pow__", "clamp",
    "relu_", "add_", "mul_", "div_",
}  # fmt: skip
# Each number of the result comes from one of what is given, where that has as many.
_KEEPS = _RENAMES | _ELEMENT_BY_ELEMENT
# Each position of the result is computed by itself: those that nobody reads can be left out.
_BY_POSITION = _ELEMENT_BY_ELEMENT | {
    "linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "__matmul__", "einsum", "embedding", "layer_norm",
    "conv1d", "conv2d", "conv3d",
}  # fmt: skip
_READ_AT_MOST = 0.5


class Unread(NamedTuple):
    """A call, and the share of its result that nobody reads."""

    call_index: int
    share: float


_Results = tuple[tuple[int, int], ...]  # values, and how many numbers each has


class Reads:
    """What the calls of a step read. Values go by their numbers (`diagnose.run.child.values`)."""

    def __init__(self) -> None:
        self._uses: dict[int, list[_Results | None]] = {}  # what a call makes of it; None: it reads all
        self._sizes: dict[int, int] = {}
        self._made: list[tuple[int, int]] = []  # value, index of the call that made it

    def call(self, index: int, name: str, given: list[int], results: list[tuple[int, Tensor]]) -> None:
        """``index``: for `unread`; ``given``: the values, in order; ``results``: those given back."""
        made = tuple((number, tensor.numel()) for number, tensor in results)
        numbers = {number for number, _ in made}
        for at, number in enumerate(given):
            picks = at == 0 and name in _PICKS
            keeps = name in _KEEPS and len(made) == 1 and made[0][1] == self._sizes.get(number)
            if number not in numbers:
                self._uses.setdefault(number, []).append(made if picks or keeps else None)
        for number, size in made:
            if number not in self._sizes:
                self._sizes[number] = size
                if name in _BY_POSITION and len(made) == 1:
                    self._made.append((number, index))

    def unread(self) -> Iterator[Unread]:
        """Calls whose result is read to a half at most; what no call reads may be for later."""
        read: dict[int, float] = {}
        for number in sorted(self._sizes, reverse=True):  # what is made of a value has a higher number
            uses = self._uses.get(number, [None])
            read[number] = min(1.0, sum(self._part(use, number, read) for use in uses))
        for number, index in self._made:
            if read[number] <= _READ_AT_MOST:
                yield Unread(index, 1 - read[number])

    def _part(self, use: _Results | None, number: int, read: dict[int, float]) -> float:
        if not use or not self._sizes[number]:
            return 1.0
        return sum(min(1.0, size / self._sizes[number]) * read.get(result, 1.0) for result, size in use)
