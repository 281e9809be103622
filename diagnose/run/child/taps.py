"""Convolutions whose kernels reach so far beyond what they are given that some of their taps see nothing but
padding, as in a stack of dilated convolutions that doubles its reach past the end of short sequences.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

_DIMENSIONS = {"conv1d": 1, "conv2d": 2, "conv3d": 3}
# Of their taps' share, 0.04 to 0.2 more of the time was left (`python -m benchmarks dead-taps`).
_FIXED = 0.1
_OPTIONS = ("stride", "padding", "dilation")  # in order, after input, weight and bias


def left_without_padding(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> float | None:
    """The share of its time that a convolution takes without taps that see only padding; None for another
    call, or where all see something.
    """
    dimensions = _DIMENSIONS.get(name)
    given = dict(zip(("input", "weight", "bias", *_OPTIONS), arguments, strict=False)) | options
    picture, kernel = given.get("input"), given.get("weight")
    if dimensions is None or not isinstance(picture, Tensor) or not isinstance(kernel, Tensor):
        return None
    stride, padding, dilation = (
        _of_each(given.get(option, default), dimensions)
        for option, default in zip(_OPTIONS, (1, 0, 1), strict=True)
    )
    left = 1.0
    for at in range(dimensions):
        length, taps = picture.shape[at - dimensions], kernel.shape[at - dimensions]
        before, both = _padded(padding[at], taps, dilation[at])
        places = (length + both - dilation[at] * (taps - 1) - 1) // stride[at] + 1
        first_places = [dilation[at] * tap - before for tap in range(taps)]
        last = stride[at] * (places - 1)
        seeing = sum(place < length and place + last >= 0 for place in first_places)
        left *= seeing / taps
    return min(1.0, left + _FIXED) if 0 < left < 1 else None


def _of_each(value: Any, dimensions: int) -> tuple[Any, ...]:
    """One number or word for all dimensions, or one of each."""
    several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return several * dimensions if len(several) == 1 else several


def _padded(padding: Any, taps: int, dilation: int) -> tuple[int, int]:
    """How much lies before the input, and before and behind it together."""
    if padding == "same":
        return dilation * (taps - 1) // 2, dilation * (taps - 1)
    return (0, 0) if padding == "valid" else (padding, 2 * padding)
