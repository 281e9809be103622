"""Which calls compute each row, picture or number of their result from one of what they are given."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

PICKS = {
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
    "relu_", "add_", "mul_", "div_", "__rsub__", "__rtruediv__", "__rdiv__", "__rpow__", "__neg__", "rsub",
    "min", "max", "minimum", "maximum", "clamp_min", "clamp_max", "square", "sqrt", "rsqrt", "sin", "cos",
    "log1p", "expm1", "logsigmoid", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "eq", "ne", "lt", "le", "gt", "ge", "__eq__",
    "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
}  # fmt: skip
# Each number of the result comes from numbers that no other one needs.
REDUCTIONS = {
    "sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "norm", "logsumexp", "std", "var",
}  # fmt: skip
_OF_ROWS = REDUCTIONS | {"max", "min"}  # with the index, if they are of a dimension
# Each number of the result comes from one of what is given, where that has as many.
KEEPS = _RENAMES | _ELEMENT_BY_ELEMENT
_CELLS = {"gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}
# Each position of the result is computed by itself: those that nobody reads can be left out.
BY_POSITION = _ELEMENT_BY_ELEMENT | REDUCTIONS | _CELLS | {
    "linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "__matmul__", "einsum", "embedding", "layer_norm",
    "conv1d", "conv2d", "conv3d", "stack", "cat",
}  # fmt: skip
# Each row of the result comes from one row of the first that is given, if there are as many.
_ROW_BY_ROW = {"linear", "matmul", "mm", "bmm", "__matmul__", *_CELLS}
_NORMS = {"layer_norm", "rms_norm"}
# Each picture of the result comes from one picture.
BY_PICTURE = {
    "conv1d", "conv2d", "conv3d", "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "interpolate",
    "adaptive_avg_pool2d", "adaptive_max_pool2d", "grid_sample", "group_norm", "instance_norm",
}  # fmt: skip
JOINS = {"stack", "cat", "concat", "concatenate"}
SOFTMAX = {"softmax", "log_softmax"}


class Behind(NamedTuple):
    """How many dimensions at least lie behind a position, of what a call is given and of what it makes, if
    each position of its result comes from one of what it is given.
    """

    given: int
    made: int


def behind_of(
    name: str, arguments: tuple[Any, ...], options: dict[str, Any], results: list[tuple[int, Tensor]]
) -> Behind | None:
    """None for calls whose positions are not computed by themselves."""
    if name in BY_PICTURE:
        given = next((one for one in arguments if isinstance(one, Tensor)), None)
        is_batch = given is not None and len(results) == 1 and given.dim() == results[0][1].dim() > 2
        return Behind(given.dim() - 1, given.dim() - 1) if given is not None and is_batch else None
    if name in _NORMS:
        dimensions = _normed(arguments, options)
        return Behind(dimensions, dimensions)
    if name in SOFTMAX or name in REDUCTIONS:
        is_over_last = over_last(arguments, options)
        return Behind(1, 1 if name in SOFTMAX else 0) if is_over_last else None
    if name == "__getitem__":
        return None if _picks_positions(arguments[1:]) else Behind(0, 0)
    if name in KEEPS or name in JOINS:
        return Behind(0, 0)
    return Behind(1, 1) if name in BY_POSITION and not name.startswith("conv") else None


def _picks_positions(index: tuple[Any, ...]) -> bool:
    """Whether tensors or lists are in it."""
    parts = index[0] if index and isinstance(index[0], tuple) else index
    return any(isinstance(part, Tensor | list) for part in parts)


def over_last(arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a softmax or a reduction is over the last dimension of what it is given."""
    given = dict(zip(("input", "dim"), arguments, strict=False)) | options
    scores, dim = given.get("input"), given.get("dim")
    return isinstance(scores, Tensor) and isinstance(dim, int) and dim in (-1, scores.dim() - 1)


def makes_numbers_of_rows(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether each number of its results comes from a row of the first that is given."""
    return name in _OF_ROWS and over_last(arguments, options)


def is_row_by_row(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """A norm is if it is over the last dimension."""
    return name in _ROW_BY_ROW or (name in _NORMS and _normed(arguments, options) == 1)


def _normed(arguments: tuple[Any, ...], options: dict[str, Any]) -> int:
    """Over how many dimensions a norm is."""
    return len(options.get("normalized_shape", arguments[1] if len(arguments) > 1 else ()))


def is_turned(arguments: tuple[Any, ...], results: list[tuple[int, Tensor]]) -> bool:
    """Whether the result is a view, and its last dimension was not the last before."""
    if not arguments or not isinstance(arguments[0], Tensor) or not results:
        return False
    before, after = arguments[0], results[0][1]
    is_view = after._base is not None and before.dim() and after.dim()
    return bool(is_view) and before.stride()[-1] != after.stride()[-1]
