"""1-D convolutions on a processor: oneDNN has no layout with the channels last for them. For images of height
1 it has one, and whole networks can be written so. Both ways are tried on what the script's is given, in that
layout from the start.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .convolution import Convolution
from .long_kernel import is_long
from .product_trial import LONG_NS, share_left


def is_signal(convolution: Convolution) -> bool:
    """Whether that is one of several channels, on a processor; long kernels have another way."""
    picture, kernel = convolution.picture, convolution.kernel
    here = picture.device.type == "cpu" and picture.dim() == 3 and picture.dtype == torch.float32
    return here and convolution.groups == 1 and kernel.shape[1] > 1 and not is_long(convolution)


def left_with_channels_last(convolution: Convolution, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that is left in that layout; None where
    it takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    (stride,), (padding,), (dilation,) = convolution.stride, convolution.padding, convolution.dilation
    bias = [] if convolution.bias is None else [convolution.bias]

    def as_is(signal: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.conv1d(signal, kernel, bias, stride, padding, dilation)

    def as_image(image: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        both = padding if isinstance(padding, str) else (0, padding)
        return F.conv2d(image, kernel, bias, (1, stride), both, (1, dilation))

    given = [convolution.picture, convolution.kernel]
    there = [tensor.unsqueeze(2).contiguous(memory_format=torch.channels_last) for tensor in given]
    return share_left((as_is, given + bias), (as_image, there + bias), is_trained=is_trained)
