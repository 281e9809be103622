"""What expressions of a script are worth in one of its frames, without running anything of the script's."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import sys
from types import CodeType, FrameType
from typing import Any

# a function that calls or names one of these may hold the dictionary of its variables, which must not change
_GIVE_LOCALS = {"locals", "vars", "dir", "eval", "exec"}
_OF_WHAT_IS_GIVEN = {"vars", "dir"}  # `vars(arguments)` gives no locals
_SILENT = {"PUSH_NULL", "PRECALL", "CACHE"}  # say nothing about what is called with what
_FIND_FRAMES = {"_getframe", "currentframe", "f_locals"}

_PLAIN = (type(None), bool, int, float, str)


def is_plain(value: Any) -> bool:
    """A number, text, a truth value or None: nothing whose use could run code of the script's."""
    return type(value) in _PLAIN


class Unknown(Exception):
    """What an expression is worth cannot be told without running it."""


def variables_of(frame: FrameType) -> dict[str, Any]:
    """What its names stand for. Raises Unknown where to ask would change something of the script's."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return {**frame.f_globals, **frame.f_locals}
    if sys.gettrace() is not None or _may_hold_locals(code):
        raise Unknown
    found = {**frame.f_globals, **frame.f_locals}
    forget_locals(frame)
    return found


def forget_locals(frame: FrameType) -> None:
    """Before Python 3.13 a frame keeps the copy of its variables that is made for who asks, and with it what
    the script lets go. While somebody traces, the copy is taken for the truth.
    """
    code = frame.f_code
    if (
        sys.version_info < (3, 13)
        and sys.gettrace() is None
        and code.co_flags & inspect.CO_OPTIMIZED
        and not _may_hold_locals(code)
    ):
        frame.f_locals.clear()


def is_changed_by_tracing(code: CodeType) -> bool:
    """Whether that is a function that may hold the dictionary of its variables: before Python 3.13 whoever
    traces it fills the very dictionary anew at each line.
    """
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    return sys.version_info < (3, 13) and is_function and _may_hold_locals(code)


@functools.lru_cache(maxsize=64)
def _may_hold_locals(code: CodeType) -> bool:
    """Also where a function merely has such a name; `model.eval()` and `"loss" in locals()` are none."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SILENT]
    for number, step in enumerate(steps):
        is_name = (
            step.opname.startswith("LOAD_") and "ATTR" not in step.opname and "METHOD" not in step.opname
        )
        if not is_name or not isinstance(step.argval, str) or step.argval not in _GIVE_LOCALS:
            continue
        following = [later.opname for later in steps[number + 1 : number + 3]]  # a function at least returns
        is_given_something = following[0].startswith("LOAD_")
        is_only_asked = following[0].startswith("CALL") and following[1:] == ["CONTAINS_OP"]
        if not (is_only_asked or (step.argval in _OF_WHAT_IS_GIVEN and is_given_something)):
            return True
    return not _FIND_FRAMES.isdisjoint(code.co_names)


def whole_number(expression: ast.expr, variables: dict[str, Any]) -> int:
    """Raises Unknown for all but whole numbers."""
    value = read(expression, variables)
    if type(value) is not int:
        raise Unknown
    return value


def truth(expression: ast.expr, variables: dict[str, Any]) -> bool | None:
    """What a condition comes out as, None where that is not known. An object of the script's is not asked:
    it counts as true.
    """
    if isinstance(expression, ast.BoolOp):
        parts = {truth(part, variables) for part in expression.values}
        decides = isinstance(expression.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
        value = truth(expression.operand, variables)
        return None if value is None else not value
    try:
        value = read(expression, variables)
    except Unknown:
        return None
    return bool(value) if is_plain(value) or type(value) in (list, tuple, dict, set) else True


def read(expression: ast.expr, variables: dict[str, Any]) -> Any:
    """Without running anything of the script's."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.Name) and expression.id in variables:
        return variables[expression.id]
    if isinstance(expression, ast.Attribute):
        return _attribute(read(expression.value, variables), expression.attr)
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        return _item(read(expression.value, variables), expression.slice.value)
    if isinstance(expression, ast.Compare) and len(expression.ops) == 1:
        left, right = (read(side, variables) for side in (expression.left, expression.comparators[0]))
        if isinstance(expression.ops[0], (ast.Is, ast.IsNot)):
            return (left is right) is isinstance(expression.ops[0], ast.Is)
        if isinstance(expression.ops[0], (ast.Eq, ast.NotEq)) and is_plain(left) and is_plain(right):
            return (left == right) is isinstance(expression.ops[0], ast.Eq)
    if isinstance(expression, ast.BinOp):
        left, right = (whole_number(side, variables) for side in (expression.left, expression.right))
        if isinstance(expression.op, ast.Add):
            return left + right
        if isinstance(expression.op, ast.Sub):
            return left - right
        if isinstance(expression.op, ast.Mult):
            return left * right
        if isinstance(expression.op, ast.FloorDiv) and right:
            return left // right
    raise Unknown


def _attribute(value: Any, name: str) -> Any:
    try:
        space = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        space = {}
    for names in (space, *(vars(kind) for kind in type(value).__mro__)):
        if name in names:
            return names[name]
    return _item(value, name)


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, (str, int)) and dict.__contains__(value, key):
        return dict.__getitem__(value, key)
    raise Unknown
