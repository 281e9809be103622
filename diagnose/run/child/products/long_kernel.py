"""Convolutions along one dimension whose kernel is long, as an impulse response: a product of spectra takes
far fewer multiplications. Both ways are tried on what the script's is given.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .convolution import Convolution
from .product_trial import LONG_NS, share_left

_TAPS_AT_LEAST = 64


def is_long(convolution: Convolution) -> bool:
    """Not on a GPU, which would have to be waited for."""
    plain = (convolution.stride, convolution.dilation) == ((1,), (1,))
    here = convolution.picture.device.type == "cpu" and convolution.picture.dim() == 3
    is_counted = here and plain and isinstance(convolution.padding[0], int)
    return is_counted and convolution.kernel.shape[-1] >= _TAPS_AT_LEAST


def left_by_spectra(convolution: Convolution, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that spectra leave; None where it takes
    too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    (padding,), groups = convolution.padding, convolution.groups
    bias = [] if convolution.bias is None else [convolution.bias]

    def as_is(signal: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.conv1d(signal, kernel, bias, padding=padding, groups=groups)

    def other(signal: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        return by_spectra(signal, kernel, bias, padding=padding, groups=groups)

    given = [convolution.picture, convolution.kernel, *bias]
    return share_left((as_is, given), (other, given), is_trained=is_trained)


def by_spectra(
    signal: Tensor, kernel: Tensor, bias: Tensor | None = None, *, padding: int, groups: int
) -> Tensor:
    """The same numbers as `conv1d`'s, but for rounding. ``signal``: (batch, channels, length)."""
    padded = F.pad(signal, (padding, padding))
    length = fast_length(padded.shape[-1])
    spectra = torch.fft.rfft(padded, length).unflatten(1, (groups, -1))
    taps = torch.fft.rfft(kernel, length).unflatten(0, (groups, -1)).conj()
    products = torch.einsum("bgif,goif->bgof", spectra, taps).flatten(1, 2)
    result = torch.fft.irfft(products, length)[..., : padded.shape[-1] - kernel.shape[-1] + 1]
    return result if bias is None else result + bias[:, None]


def fast_length(least: int) -> int:
    """The smallest product of powers of 2, 3 and 5 that is no shorter: other lengths take long."""
    found = 1 << (least - 1).bit_length()
    for fives in (1, 5, 25):
        for threes in (1, 3, 9):
            odd = fives * threes
            doubled = odd << max(0, (-(-least // odd) - 1).bit_length())
            found = min(found, doubled)
    return found
