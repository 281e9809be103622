"""What a loop calls, from its source, told in the loop's own names: `if step % self.every == 0:` in a method
of `self.album`, called as `self.album(step)`, is `step % self.album.every == 0` there.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..places import Places
from .frame_values import Unknown, is_plain, read
from .loop_source import LoopSource, within


@dataclass(frozen=True)
class Called:
    """A function of the script's. ``given``: what its parameters are in the names of whoever calls it."""

    code: CodeType
    file: str
    body: list[ast.stmt]
    given: dict[str, ast.expr]
    variables: dict[str, Any]  # of its module

    def told(self, expression: ast.expr) -> ast.expr:
        """The expression in the caller's names. Raises Unknown where it has others of the function's own."""
        told: ast.expr = _Renamed(self).visit(copy.deepcopy(expression))
        return told


class _Renamed(ast.NodeTransformer):
    def __init__(self, called: Called) -> None:
        self._called = called

    def visit_Name(self, node: ast.Name) -> ast.expr:
        called = self._called
        if node.id in called.given:
            return called.given[node.id]
        value = called.variables.get(node.id)
        if node.id in called.code.co_varnames or node.id not in called.variables or not is_plain(value):
            raise Unknown
        return ast.Constant(value)


def called_by(call: ast.Call, variables: dict[str, Any], source: LoopSource, places: Places) -> Called | None:
    """None for what is not the script's own, or cannot be told without running anything."""
    try:
        found = _function(call.func, variables)
    except Unknown:
        return None
    if found is None or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    function, owner = found
    code = function.__code__
    file = places.user_file(code.co_filename)
    if not file:
        return None
    body = source.body(file, code)
    given = _given(function, [*([owner] if owner else []), *call.args], call.keywords)
    for node in within(*body):  # a parameter that is set anew is no longer what was given
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.pop(node.id, None)
    return Called(code, file, body, given, function.__globals__)


def _function(called: ast.expr, variables: dict[str, Any]) -> tuple[FunctionType, ast.expr | None] | None:
    """The function, and what its first parameter is if it is a method."""
    target = read(called, variables)
    owner: ast.expr | None = None
    if not isinstance(target, FunctionType):
        kinds = (vars(kind) for kind in type(target).__mro__)
        target = next((kind["__call__"] for kind in kinds if "__call__" in kind), None)
        owner = called
    elif isinstance(called, ast.Attribute):
        holder = read(called.value, variables)
        own = object.__getattribute__(holder, "__dict__") if hasattr(type(holder), "__dict__") else {}
        if not isinstance(holder, (ModuleType, type)) and called.attr not in own:
            owner = called.value
    for _ in range(10):  # decorated, as by torch.no_grad()
        inner = vars(target).get("__wrapped__") if isinstance(target, FunctionType) else None
        if not isinstance(inner, FunctionType):
            break
        target = inner
    return (target, owner) if isinstance(target, FunctionType) else None


def _given(
    function: FunctionType, arguments: list[ast.expr], keywords: list[ast.keyword]
) -> dict[str, ast.expr]:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = names[: code.co_argcount]
    defaults = function.__defaults__ or ()
    given: dict[str, ast.expr] = {
        name: ast.Constant(value)
        for name, value in zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
        if is_plain(value)
    }
    given |= zip(positional, arguments, strict=False)
    return given | {word.arg: word.value for word in keywords if word.arg in names}
