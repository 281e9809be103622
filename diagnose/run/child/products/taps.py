"""Convolutions whose kernels reach so far beyond what they are given that some of their taps see nothing but
padding, as in a stack of dilated convolutions that doubles its reach past the end of short sequences.
"""

from __future__ import annotations

from typing import Any

from .convolution import Convolution

# Of their taps' share, 0.04 to 0.2 more of the time was left (`python -m benchmarks dead-taps`).
_FIXED = 0.1


def left_without_padding(convolution: Convolution) -> float | None:
    """The share of its time that a convolution takes without taps that see only padding; None where all see
    something.
    """
    picture, kernel, _, stride, padding, dilation, _ = convolution
    dimensions = convolution.dimensions
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


def _padded(padding: Any, taps: int, dilation: int) -> tuple[int, int]:
    """How much lies before the input, and before and behind it together."""
    if padding == "same":
        return dilation * (taps - 1) // 2, dilation * (taps - 1)
    return (0, 0) if padding == "valid" else (padding, 2 * padding)
