"""Which calls in a source make 64-bit floats, as far as the text tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_DOUBLE = ("float64", "double")
_DEFAULT = ("set_default_dtype", "set_default_tensor_type")
_KEEPS = ("from_numpy", "as_tensor")  # what NumPy made, which is 64 bits wide unless it says otherwise
_NARROWS = ("float", "to", "type", "half", "bfloat16", "long", "int", "bool", "astype")


def calls_to_float64(tree: ast.AST) -> list[ast.Call]:
    """`model.double()`, `torch.set_default_dtype(torch.float64)` and calls with `torch.float64`; without any
    of these the ones that keep the type of a NumPy array and are not converted on the spot.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    told = [call for call in calls if _tells(call)]
    if told:
        return told
    attributes = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    converted = {attribute.value for attribute in attributes if attribute.attr in _NARROWS}
    return [
        call
        for call in calls
        if called(call) in _KEEPS and call not in converted and not call.keywords and len(call.args) == 1
    ]


def of_much(call: ast.Call) -> bool:
    """Whether it makes all that follows 64 bits wide, or all of a model."""
    name = called(call)
    if name in _DEFAULT:
        return any(word in (*_DOUBLE, "DoubleTensor") for value in _given(call) for word in _names(value))
    return name == "double" and not call.args and isinstance(call.func, ast.Attribute)


def _tells(call: ast.Call) -> bool:
    return of_much(call) or (
        called(call) not in _DEFAULT and any(_is_torchs_double(value) for value in _given(call))
    )


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_torchs_double(value: ast.expr) -> bool:
    match value:
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return name in _DOUBLE
    return False


def _names(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            yield name
        case ast.Constant(value=str(text)):
            yield text.rpartition(".")[2]


def called(call: ast.Call) -> str:
    """`f` of `f()` and of `a.f()`; empty for what has no name."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
