"""Two calls one after the other, made in another way.

Products of three matrices have a cheaper order (`product_order.py`). A convolution of one point after
`interpolate` computes each pixel that is made up. An inverse that only multiplies costs more than solving the
system. A sum or mean of what a linear layer gives is what the layer gives of the sum or mean, and so of the
rows or columns of a product; so are sums by an index (`summed_rows.py`). Rows of which few are taken need not
be sorted whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..values import Call
from .convolution import Convolution, convolution_of, of_each
from .product_order import is_any_product, is_product, orders_of
from .product_order import may_be_first as may_be_first_product
from .sorted_few import Few, Sorting, all_sorted, few_sorted, few_taken, sorting_of
from .summed_rows import summed_ways, sums_of

_INVERSES = {"inverse", "linalg_inv"}
_POOLS = {"mean", "sum", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"}
_AVERAGES = {"nearest", "nearest-exact", "bilinear", "linear", "trilinear", "area"}  # with weights of sum 1

Way = Callable[..., Tensor]


class Ways(NamedTuple):
    """As it is, the other way, and what both are given. ``name``: the facts' name; ``few``: what is read of
    the first call's results, where that is a part.
    """

    name: str
    as_is: Way
    other: Way
    given: list[Tensor]
    few: Few | None = None


def may_be_first(call: Call) -> bool:
    """Whether a call that reads its result may make another way of both."""
    return (
        may_be_first_product(call)
        or is_any_product(call)
        or call.name in {"interpolate", "linear", *_INVERSES}
        or _points(call) is not None
        or sorting_of(call) is not None
    )


def ways_of(
    first: Call,
    second: Call,
    at: int,
    result: Tensor,
    *,
    which: int = 0,
    turned: bool = False,
    scale: Tensor | None = None,
) -> Ways | None:
    """Of two calls, the second of which is given as its tensor number ``at`` what the first makes, or its
    transpose (``turned``), or its rows multiplied by ``scale``; of several results that number ``which``.
    ``result``: of the second.
    """
    sums = sums_of(second, at)
    if sums is not None:
        summed = summed_ways(first, sums, scale)
        return Ways("pooled", *summed) if summed is not None and not turned else None
    if scale is not None:
        return None
    orders = orders_of(first, second, at, turned=turned)
    if orders is not None:
        return Ways("order", *orders)
    if turned:
        return None
    sorting = sorting_of(first)
    if sorting is not None:
        return _of_sorted(first, sorting, second, which) if at == 0 else None
    if second.name in _POOLS:
        return _of_pooling(first, second) if at == 0 else None
    if first.name == "interpolate":
        return _of_pixels(first, second, result) if at == 0 else None
    return _of_inverse(first, second, at) if first.name in _INVERSES else None


def _of_sorted(made: Call, sorting: Sorting, call: Call, which: int) -> Ways | None:
    """``which`` is what `sort` gives; `argsort` gives the second alone."""
    rows = made.given[0]
    few = few_taken(sorting, rows, call)
    if few is None:
        return None
    told = 1 if made.name == "argsort" else which

    def as_is(rows: Tensor) -> Tensor:
        return all_sorted(rows, sorting, told)

    def other(rows: Tensor) -> Tensor:
        return few_sorted(rows, sorting, told, few)

    return Ways("sorted", as_is, other, [rows], few)


def _of_inverse(made: Call, call: Call, at: int) -> Ways | None:
    if not is_product(call) or not made.given:
        return None
    return Ways("inverted", *inverse_ways(at), [made.given[0], call.given[1 - at]])


def inverse_ways(at: int) -> tuple[Way, Way]:
    """The inverse of a matrix, left (``at`` 0) or right of another in their product; and the solution."""

    def as_is(matrix: Tensor, other: Tensor) -> Tensor:
        inverse = torch.linalg.inv(matrix)
        return inverse @ other if at == 0 else other @ inverse

    def solved(matrix: Tensor, other: Tensor) -> Tensor:
        return torch.linalg.solve(matrix, other, left=at == 0)

    return as_is, solved


def _of_pixels(made: Call, call: Call, result: Tensor) -> Ways | None:
    """Where a convolution of one point follows an `interpolate` that makes a picture larger, and does not
    make more channels of it.
    """
    names = ("input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor", "antialias")
    options = dict(zip(names, made.arguments, strict=False)) | made.options
    options.pop("input", None)
    points, picture = _points(call), made.given[0]
    if points is None or options.get("mode", "nearest") not in _AVERAGES:
        return None
    larger = result[0, 0].numel() > picture[0, 0].numel()
    if not larger or result.shape[1] > picture.shape[1]:
        return None
    layer = _layer_of_points(call.name, points)

    def as_is(picture: Tensor, *weights: Tensor) -> Tensor:
        return layer(F.interpolate(picture, **options), *weights)

    def other(picture: Tensor, *weights: Tensor) -> Tensor:
        return F.interpolate(layer(picture, *weights), **options)

    return Ways("enlarged", as_is, other, [picture, *_weights(points)])


def _points(call: Call) -> Convolution | None:
    """A convolution that looks at each point by itself, and at no other."""
    convolution = convolution_of(call.name, call.arguments, call.options)
    if convolution is None:
        return None
    one_each = {*convolution.kernel.shape[2:], *convolution.stride} == {1}
    return convolution if one_each and set(convolution.padding) <= {0, "valid", "same"} else None


def _layer_of_points(name: str, points: Convolution) -> Way:
    def layer(picture: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        result: Tensor = getattr(F, name)(picture, kernel, bias, groups=points.groups)
        return result

    return layer


def _weights(points: Convolution) -> list[Tensor]:
    return [points.kernel, *([points.bias] if points.bias is not None else [])]


def _of_pooled_product(made: Call, call: Call) -> Ways | None:
    """Where rows of the left side are added up or averaged, or columns of the right one, or products
    that have one of the two in common.
    """
    count = max(given.dim() for given in made.given)
    left, right = (given[(None,) * (count - given.dim())] for given in made.given)
    dimensions = _pooled(call, count)
    if dimensions is None or not (left.is_floating_point() and right.is_floating_point()):
        return None
    for which, (pooled, own, other) in enumerate(((left, count - 2, right), (right, count - 1, left))):
        if all(at == own or (at < count - 2 and other.shape[at] == 1) for at in dimensions):
            smaller = any(pooled.shape[at] > 1 for at in dimensions)
            ways = pooled_product_ways(which, call.name == "sum", dimensions)
            return Ways("pooled", *ways, [left, right]) if smaller else None
    return None


def pooled_product_ways(which: int, is_sum: bool, dimensions: list[int]) -> tuple[Way, Way]:
    """The product, then its sum or mean along ``dimensions``; and the product with those of the left
    (``which`` 0) or right side.
    """
    pool = torch.sum if is_sum else torch.mean

    def as_is(left: Tensor, right: Tensor) -> Tensor:
        return pool(left @ right, dimensions, keepdim=True)

    def first_pooled(left: Tensor, right: Tensor) -> Tensor:
        sides = [left, right]
        sides[which] = pool(sides[which], dimensions, keepdim=True)
        return sides[0] @ sides[1]

    return as_is, first_pooled


def _of_pooling(made: Call, call: Call) -> Ways | None:
    """Where a layer's rows, a convolution's points, or rows of a product are added up or averaged."""
    if is_any_product(made):
        return _of_pooled_product(made, call)
    points = _points(made)
    if points is not None and points.picture.dim() == points.dimensions + 2:
        layer, given, channels = _layer_of_points(made.name, points), points.picture, 1
        weights = _weights(points)
    elif made.name == "linear" and len(made.given) in (2, 3):
        layer, given, channels = F.linear, made.given[0], made.given[0].dim() - 1
        weights = made.given[1:]
    else:
        return None
    dimensions = _pooled(call, given.dim())
    if dimensions is None or channels in dimensions:
        return None
    return Ways("pooled", *pooling_ways(layer, call.name == "sum", dimensions, channels), [given, *weights])


def _pooled(call: Call, count: int) -> list[int] | None:
    """The dimensions along which all is made one, of ``count``."""
    given = dict(zip(("input", "dim"), call.arguments, strict=False)) | call.options
    if call.name not in ("mean", "sum"):
        sizes = given.get("output_size", given.get("dim"))
        spatial = int(call.name[-2])
        return list(range(count - spatial, count)) if of_each(sizes, spatial) == (1,) * spatial else None
    dimensions = of_each(given.get("dim"), 1)
    if not dimensions or not all(type(dimension) is int for dimension in dimensions) or "dtype" in given:
        return None
    return [dimension % count for dimension in dimensions]


def pooling_ways(layer: Way, is_sum: bool, dimensions: list[int], channels: int) -> tuple[Way, Way]:
    """The layer of all, then their sum or mean along ``dimensions``; and the layer of these."""
    pool = torch.sum if is_sum else torch.mean

    def as_is(given: Tensor, *weights: Tensor) -> Tensor:
        return pool(layer(given, *weights), dimensions, keepdim=True)

    def first_pooled(given: Tensor, *weights: Tensor) -> Tensor:
        result = layer(pool(given, dimensions, keepdim=True), *weights)
        count = given.numel() // max(1, pool(given, dimensions).numel()) if is_sum else 1
        if count == 1 or len(weights) == 1:
            return result
        shape = [-1 if dimension == channels else 1 for dimension in range(given.dim())]
        return result + (count - 1) * weights[1].reshape(shape)

    return as_is, first_pooled
