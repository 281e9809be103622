"""The layout of pictures and volumes with their channels last in memory."""

from __future__ import annotations

import torch
from torch import Tensor

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}  # by dimensions


def is_picture(tensor: Tensor) -> bool:
    return tensor.dim() in FORMATS and tensor.is_floating_point()


def channels_last(tensor: Tensor) -> Tensor:
    """The very tensor if it is no picture or volume, or laid out so already."""
    return tensor.contiguous(memory_format=FORMATS[tensor.dim()]) if is_picture(tensor) else tensor
