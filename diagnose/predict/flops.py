"""How much an operator computes and moves, from the input shapes and types that a trace records of it.

FLOP: the formulas of PyTorch's own counter (torch/utils/flop_counter.py): a multiplication and an addition
are two, a bias is none, and attention counts in full, masked or not (a causal mask spares half). Traffic: the
least there can be, every input read once and every result written once. A tensor that is expanded counts in
full: its strides are not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

Shape = tuple[int, ...]
Tensor = tuple[Shape, str]  # with its format
Outputs = dict[tuple["Shape | None", "Shape | None"], Shape]  # of convolutions, by input and weight

# Formats by the names that the profiler writes; the rest (complex numbers, quantised ones) is not counted.
FORMATS = {
    "double": "fp64",
    "float": "fp32",
    "c10::Half": "fp16",
    "c10::BFloat16": "bf16",
    "c10::Float8_e4m3fn": "fp8",
    "c10::Float8_e4m3fnuz": "fp8",
    "c10::Float8_e5m2": "fp8",
    "c10::Float8_e5m2fnuz": "fp8",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "signed char": "int8",
    "unsigned char": "int8",
    "bool": "bool",
}
BYTES = {
    "fp64": 8,
    "fp32": 4,
    "fp16": 2,
    "bf16": 2,
    "fp8": 1,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "bool": 1,
}
FLOATING = {"fp64", "fp32", "fp16", "bf16", "fp8"}
# Where a convolution's backward takes the result's gradient, the input and the weight;
# the latter two are of older PyTorch.
BACKWARDS = {
    "aten::convolution_backward": (0, 1, 2),
    "aten::cudnn_convolution_backward": (1, 0, 2),
    "aten::miopen_convolution_backward": (1, 0, 2),
}
LARGEST = 2**48  # numbers in a tensor: more than any memory holds


def storage(number_format: str) -> str:
    """The format that numbers are stored in: TF32 is how 32-bit ones are multiplied."""
    return "fp32" if number_format == "tf32" else number_format


@dataclass(frozen=True)
class Work:
    """``flop``: multiplications and additions.

    ``traffic``: how many numbers are read and written at least, by the format stored in.
    """

    flop: int
    traffic: Mapping[str, int]

    @property
    def moved_bytes(self) -> int:
        """Bytes read and written at least."""
        return sum(count * BYTES[one] for one, count in self.traffic.items())

    def stored(self, from_format: str, to_format: str) -> Work:
        """The same with the numbers of one format stored in another."""
        traffic: dict[str, int] = {}
        for one, count in self.traffic.items():
            kept = storage(to_format) if one == storage(from_format) else one
            traffic[kept] = traffic.get(kept, 0) + count
        return Work(self.flop, traffic)


def work_of(name: str, shapes: str, dtypes: str, output: Shape | None = None) -> Work | None:
    """The work of one call of an operator such as ``aten::mm``.

    ``shapes``, ``dtypes``: JSON texts as in the columns of the same name (``[[64, 3], [3, 8]]``, ``["float",
    "float"]``). ``output``: shape of a convolution's result, which its inputs do not tell
    (`convolution_outputs`). None where the operator is not in the table, where something needed is not
    recorded or where the shapes do not fit.
    """
    count = _COUNTS.get(name.removeprefix("aten::")) if name.startswith("aten::") else None
    tensors = _tensors(shapes, dtypes) if count else None
    if count is None or tensors is None:
        return None
    try:
        return count(tensors, output)
    except _Unfit:
        return None


def convolution_outputs(ops: Iterable[tuple[str, str]]) -> Outputs:
    """Results' shapes by the shapes of input and weight, as far as the backwards among
    these operators (name, shapes) tell.

    Pairs with two different results (two strides, say) are left out.
    """
    found: dict[tuple[Shape | None, Shape | None], set[Shape]] = {}
    for name, shapes in {(name, shapes) for name, shapes in ops if name in BACKWARDS}:
        given = dict(enumerate(_shapes(shapes)))
        gradient, x, weight = (given.get(at) for at in BACKWARDS[name])
        if gradient and x and weight:
            found.setdefault((x, weight), set()).add(gradient)
    return {pair: results.pop() for pair, results in found.items() if len(results) == 1}


def input_and_weight(shapes: str) -> tuple[Shape | None, Shape | None]:
    """The shapes of an operator's first two inputs, by which `convolution_outputs` tells
    results; None for one that is no tensor.
    """
    given = dict(enumerate(_shapes(shapes)))
    return given.get(0), given.get(1)


class _Unfit(Exception):
    """The recorded inputs are not what the operator takes."""


_Count = Callable[[list["Tensor | None"], "Shape | None"], Work]


def _tensors(shapes: str, dtypes: str) -> list[Tensor | None] | None:
    """The recorded inputs; None for one that is no tensor.

    None instead of the list where the texts are not as expected.
    """
    given, types = _shapes(shapes), _loaded(dtypes)
    if not given or not isinstance(types, list) or len(types) != len(given):
        return None
    formats = [FORMATS.get(type_) if isinstance(type_, str) else None for type_ in types]
    return [
        (shape, format) if shape is not None and format else None
        for shape, format in zip(given, formats, strict=True)
    ]


def _shapes(text: str) -> list[Shape | None]:
    loaded = _loaded(text)
    return [_shape(one) for one in loaded] if isinstance(loaded, list) else []


def _shape(given: object) -> Shape | None:
    if not isinstance(given, list) or not all(type(side) is int and 0 <= side < LARGEST for side in given):
        return None
    return tuple(given) if prod(given) < LARGEST else None


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _work(flop: int, *moved: Tensor) -> Work:
    traffic: dict[str, int] = {}
    for shape, number_format in moved:
        if count := prod(shape):
            traffic[number_format] = traffic.get(number_format, 0) + count
    return Work(flop, traffic)


def _first(tensors: list[Tensor | None], count: int, start: int = 0) -> list[Tensor]:
    """So many inputs that have to be tensors of floating-point numbers."""
    found = tensors[start : start + count]
    if len(found) < count or not all(one and one[1] in FLOATING for one in found):
        raise _Unfit
    return [one for one in found if one]


def _fits(condition: bool) -> None:
    if not condition:
        raise _Unfit


def _broadcast(*shapes: Shape) -> Shape:
    """The shape that results from an elementwise operation on these."""
    sides = max(map(len, shapes))
    aligned = [(1,) * (sides - len(shape)) + shape for shape in shapes]
    result = tuple(0 if 0 in column else max(column) for column in zip(*aligned, strict=True))
    _fits(
        all(side in (1, total) for shape in aligned for side, total in zip(shape, result, strict=True))
        and prod(result) < LARGEST
    )
    return result


# Matrix products


def _product(a: Tensor, b: Tensor, added: list[Tensor]) -> Work:
    """``a @ b`` of at least two dimensions each, read with what is added to it."""
    (*batch_a, rows, inner), (*batch_b, also_inner, columns) = a[0], b[0]
    result = (*_broadcast(tuple(batch_a), tuple(batch_b)), rows, columns)
    _fits(inner == also_inner and prod(result) < LARGEST)
    return _work(2 * prod(result) * inner, a, b, *added, (result, a[1]))


def _plain_product(sides: int) -> _Count:
    def count(tensors: list[Tensor | None], output: Shape | None) -> Work:
        a, b = _first(tensors, 2)
        _fits(len(a[0]) == len(b[0]) == sides and a[0][:-2] == b[0][:-2])
        return _product(a, b, [])

    return count


def _matmul(tensors: list[Tensor | None], output: Shape | None) -> Work:
    a, b = _first(tensors, 2)
    _fits(len(a[0]) >= 2 and len(b[0]) >= 2)
    return _product(a, b, [])


def _added_product(sides: int) -> _Count:
    def count(tensors: list[Tensor | None], output: Shape | None) -> Work:
        added, a, b = _first(tensors, 3)
        _fits(len(a[0]) == len(b[0]) == sides and a[0][:-2] == b[0][:-2])
        return _product(a, b, [added])

    return count


def _linear(tensors: list[Tensor | None], output: Shape | None) -> Work:
    x, weight = _first(tensors, 2)
    _fits(len(x[0]) >= 1 and len(weight[0]) == 2)
    bias = [tensor for tensor in tensors[2:3] if tensor]
    rows: Tensor = ((prod(x[0][:-1]), x[0][-1]), x[1])
    return _product(rows, (weight[0][::-1], weight[1]), bias)


# Convolutions


def _convolved(x: Shape, weight: Shape, result: Shape) -> int:
    """FLOP of a convolution; a transposed one's weight is applied at every place
    of its input, the smaller side there.
    """
    _fits(len(x) == len(weight) == len(result) >= 3 and x[0] == result[0] and weight[0] in (x[1], result[1]))
    return 2 * x[0] * min(prod(x[2:]), prod(result[2:])) * prod(weight)


def _convolution(tensors: list[Tensor | None], output: Shape | None) -> Work:
    x, weight = _first(tensors, 2)
    if output is None:
        raise _Unfit
    return _work(_convolved(x[0], weight[0], output), x, weight, (output, x[1]))


def _convolution_backward(tensors: list[Tensor | None], output: Shape | None) -> Work:
    """Both gradients, as many FLOP each as the forward.

    (A network's first convolution needs only one: the mask is not recorded.)
    """
    gradient, x, weight = _first(tensors, 3)
    return _work(2 * _convolved(x[0], weight[0], gradient[0]), gradient, x, weight, x, weight)


# Attention


def _attention(heads_at: int, products: int, start: int) -> _Count:
    """``products``: 2 forward (scores, output), 5 backward (the scores again and four
    gradients). ``start``: where the query stands.

    ``heads_at``: the dimension of the heads, 1 or 2 of four; the other one is the sequence.
    """

    def count(tensors: list[Tensor | None], output: Shape | None) -> Work:
        query, key, value = _first(tensors, 3, start)
        q, k, v = query[0], key[0], value[0]
        _fits(len(q) == len(k) == len(v) == 4)
        heads, length, kv_heads = q[heads_at], q[3 - heads_at], k[heads_at]
        _fits(q[0] == k[0] and k[:3] == v[:3] and q[3] == k[3] and kv_heads > 0 and heads % kv_heads == 0)
        result: Tensor = ((*q[:3], v[3]), query[1])
        scores = 2 * q[0] * heads * length * k[3 - heads_at]
        if products == 2:
            return _work(scores * (q[3] + v[3]), query, key, value, result)
        return _work(scores * (3 * q[3] + 2 * v[3]), result, result, query, key, value, query, key, value)

    return count


# Operators that only move bytes


def _elementwise(inputs: int, number_format: str = "") -> _Count:
    """``inputs``: how many the operator reads; what is recorded after them is where it writes.

    ``number_format``: of its result.
    """

    def count(tensors: list[Tensor | None], output: Shape | None) -> Work:
        read = [tensor for tensor in tensors[:inputs] if tensor]
        _fits(bool(read) and tensors[0] is not None)
        result = _broadcast(*(shape for shape, _ in read))
        return _work(0, *read, (result, number_format or read[0][1]))

    return count


def _rowwise(tensors: list[Tensor | None], output: Shape | None) -> Work:
    """Normalisations and softmax, forward and backward: the inputs once,
    and a result like the first of them.
    """
    return _work(0, *_first(tensors, 1), *(tensor for tensor in tensors[1:] if tensor), *_first(tensors, 1))


def _where(tensors: list[Tensor | None], output: Shape | None) -> Work:
    read = [tensor for tensor in tensors[:3] if tensor]
    _fits(len(read) == 3)
    return _work(0, *read, (_broadcast(*(shape for shape, _ in read)), read[1][1]))


def _copy(tensors: list[Tensor | None], output: Shape | None) -> Work:
    target, source = (*tensors, None, None)[:2]
    if target is None or source is None:
        raise _Unfit
    return _work(0, source, target)


def _fill(tensors: list[Tensor | None], output: Shape | None) -> Work:
    if not tensors or tensors[0] is None:
        raise _Unfit
    return _work(0, tensors[0])


_UNARY = (
    "abs bitwise_not ceil clamp clamp_max clamp_min cos elu erf exp exp2 floor gelu hardsigmoid hardswish "
    "hardtanh leaky_relu log log1p log2 logical_not mish neg pow reciprocal relu round rsqrt sigmoid sign "
    "silu sin softplus sqrt square tan tanh"
)
_BINARY = (
    "add atan2 bitwise_and bitwise_or div elu_backward fmod gelu_backward hardswish_backward "
    "leaky_relu_backward logical_and logical_or masked_fill maximum minimum mul remainder rsub "
    "sigmoid_backward silu_backward sub tanh_backward threshold_backward"
)
_COMPARISON = "eq ge gt le lt ne"
_TERNARY = "addcdiv addcmul lerp"
_ROWWISE = (
    "_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data native_layer_norm "
    "native_layer_norm_backward native_group_norm _fused_rms_norm native_batch_norm "
    "native_batch_norm_backward cudnn_batch_norm cudnn_batch_norm_backward miopen_batch_norm "
    "miopen_batch_norm_backward"
)
_CONVOLUTION = (
    "convolution _convolution convolution_overrideable cudnn_convolution cudnn_convolution_transpose "
    "miopen_convolution miopen_convolution_transpose miopen_depthwise_convolution _conv_depthwise2d "
    "conv_depthwise3d _slow_conv2d_forward"
)


def _elementwise_counts() -> dict[str, _Count]:
    counts: dict[str, _Count] = {}
    for names, inputs in ((_UNARY, 1), (_BINARY, 2), (_TERNARY, 3)):
        for name in names.split():
            counts[name] = counts[f"{name}_"] = _elementwise(inputs)
    return counts | {name: _elementwise(2, "bool") for name in _COMPARISON.split()}


_COUNTS: dict[str, _Count] = {
    "mm": _plain_product(2),
    "bmm": _plain_product(3),
    "matmul": _matmul,
    "addmm": _added_product(2),
    "_addmm_activation": _added_product(2),
    "baddbmm": _added_product(3),
    "linear": _linear,
    "convolution_backward": _convolution_backward,
    "_flash_attention_forward": _attention(2, 2, 0),
    "_efficient_attention_forward": _attention(2, 2, 0),
    "_flash_attention_backward": _attention(2, 5, 1),
    "_efficient_attention_backward": _attention(2, 5, 1),
    "where": _where,
    "copy_": _copy,
    "fill_": _fill,
    "zero_": _fill,
    **dict.fromkeys(_CONVOLUTION.split(), _convolution),
    **dict.fromkeys(_ROWWISE.split(), _rowwise),
    **_elementwise_counts(),
    **{
        f"_scaled_dot_product_{kind}_attention": _attention(1, 2, 0)
        for kind in ("flash", "efficient", "cudnn")
    },
    **{
        f"_scaled_dot_product_{kind}_attention_backward": _attention(1, 5, 1)
        for kind in ("flash", "efficient", "cudnn")
    },
}
