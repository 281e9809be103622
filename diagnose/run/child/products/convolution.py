"""What a call of a convolution is given."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

_DIMENSIONS = {"conv1d": 1, "conv2d": 2, "conv3d": 3}
_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1}  # in order, after input, weight and bias


class Convolution(NamedTuple):
    """``stride``, ``padding`` and ``dilation``: of each dimension; a padding may be a word."""

    picture: Tensor
    kernel: Tensor
    bias: Tensor | None
    stride: tuple[Any, ...]
    padding: tuple[Any, ...]
    dilation: tuple[Any, ...]
    groups: int

    @property
    def dimensions(self) -> int:
        return len(self.stride)


def convolution_of(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Convolution | None:
    """None for another call."""
    dimensions = _DIMENSIONS.get(name)
    names = ("input", "weight", "bias", *_DEFAULTS, "groups")
    given = dict(zip(names, arguments, strict=False)) | options
    picture, kernel, bias = given.get("input"), given.get("weight"), given.get("bias")
    if dimensions is None or not isinstance(picture, Tensor) or not isinstance(kernel, Tensor):
        return None
    stride, padding, dilation = (
        of_each(given.get(option, default), dimensions) for option, default in _DEFAULTS.items()
    )
    return Convolution(picture, kernel, bias, stride, padding, dilation, given.get("groups", 1))


def of_each(value: Any, dimensions: int) -> tuple[Any, ...]:
    """One number or word for all dimensions, or one of each."""
    several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return several * dimensions if len(several) == 1 else several
