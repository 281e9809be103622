"""In which of its rounds a loop is, and how many it has, by the variables of its frame."""

from __future__ import annotations

import ast
from typing import Any, TypeGuard

from torch.utils.data import DataLoader

from ..lengths import length
from .frame_values import Unknown, read, whole_number
from .loop_source import Loop, name_of

_ITEMS_AT_MOST = 1_000_000  # of a list that is looked through: some 20 ms


def round_of(loop: Loop, variables: dict[str, Any]) -> tuple[int, int]:
    """The number of its round, from 0, and how many it has: of `in range(…)`, `in enumerate(…)` of a list,
    of a list each of whose items is another object, and of `while` with a count that rises from 0. Raises
    Unknown for all else.
    """
    try:
        return _counted(loop, variables) if isinstance(loop, ast.While) else _round(loop, variables)
    except (TypeError, ValueError, OverflowError) as error:  # more rounds than Python can count
        raise Unknown from error


def _round(loop: ast.For | ast.AsyncFor, variables: dict[str, Any]) -> tuple[int, int]:
    over, target = loop.iter, loop.target
    if _is_call(over, "tqdm", "trange", "track"):
        over = over.args[0] if name_of(over.func) != "trange" else ast.Call(ast.Name("range"), over.args, [])
    if _is_call(over, "enumerate") and isinstance(target, ast.Tuple):
        begin = whole_number(over.args[1], variables) if len(over.args) > 1 else 0
        return whole_number(target.elts[0], variables) - begin, _count(over.args[0], variables)
    items = _items(over, variables)
    if not isinstance(items, range):
        return _place_in(items, target, variables), len(items)
    now = whole_number(target, variables)
    if now not in items:
        raise Unknown
    return items.index(now), len(items)


def _counted(loop: ast.While, variables: dict[str, Any]) -> tuple[int, int]:
    """Of `while count < limit`, whose rounds each add the same number to the count."""
    test = loop.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for count, limit, up_to in filter(None, map(_limit, parts)):
        rise = _rise(loop.body, ast.unparse(count))
        if rise:
            now = whole_number(count, variables) // rise
            rounds = -(-(_length(limit, variables) + up_to) // rise)
            if now < 0 or rounds < 1:
                raise Unknown
            return min(now, rounds - 1), rounds  # the count may rise before the step ends
    raise Unknown


def _limit(test: ast.expr) -> tuple[ast.expr, ast.expr, bool] | None:
    """Count and limit, and whether the limit is reached: of `a < b` and `a <= b`, whichever way round."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right, op = test.left, test.comparators[0], test.ops[0]
    if isinstance(op, (ast.Lt, ast.LtE)):
        return left, right, isinstance(op, ast.LtE)
    if isinstance(op, (ast.Gt, ast.GtE)):
        return right, left, isinstance(op, ast.GtE)
    return None


def _rise(body: list[ast.stmt], count: str) -> int:
    """What statements of a round add to the count; 0 where that is not one number each time."""
    rises = [added for statement in body if (added := _added_by(statement, count)) is not None]
    return max(0, rises[0]) if len(rises) == 1 else 0


def _added_by(statement: ast.stmt, name: str) -> int | None:
    """By `name += 1` and `name = name + 1`; 0 where it is set to something else, None where it is not set."""
    if isinstance(statement, ast.AugAssign):
        targets: list[ast.expr] = [statement.target]
        value: ast.expr = ast.BinOp(statement.target, statement.op, statement.value)
    elif isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    else:
        return None
    if name not in map(ast.unparse, targets):
        return None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return 0
    added = value.right.value if isinstance(value.right, ast.Constant) else None
    return added if ast.unparse(value.left) == name and type(added) is int else 0


def _count(over: ast.expr, variables: dict[str, Any]) -> int:
    """Of a list's items, or of a DataLoader's batches."""
    held = None if _is_call(over, "range") else read(over, variables)
    if not isinstance(held, DataLoader):
        return len(_items(over, variables))
    batches = length(held)
    if batches is None:
        raise Unknown
    return batches


def _place_in(items: list[Any] | tuple[Any, ...], target: ast.expr, variables: dict[str, Any]) -> int:
    """Of the item that the loop's variables hold. They are compared as objects: `==` may be the script's."""
    if len(items) > _ITEMS_AT_MOST:
        raise Unknown
    if isinstance(target, ast.Tuple):
        held = [read(name, variables) for name in target.elts]
        places = [number for number, item in enumerate(items) if _is_made_of(item, held)]
    else:
        item_now = read(target, variables)
        places = [number for number, item in enumerate(items) if item is item_now]
    if len(places) != 1:
        raise Unknown
    return places[0]


def _is_made_of(item: Any, held: list[Any]) -> bool:
    return (
        type(item) in (tuple, list)
        and len(item) == len(held)
        and all(part is value for part, value in zip(item, held, strict=True))
    )


def _items(over: ast.expr, variables: dict[str, Any]) -> range | list[Any] | tuple[Any, ...]:
    if _is_call(over, "range"):
        return range(*(_length(argument, variables) for argument in over.args))
    items = read(over, variables)
    if type(items) not in (range, list, tuple):
        raise Unknown
    return items


def _length(expression: ast.expr, variables: dict[str, Any]) -> int:
    """A whole number, also `len(…)` of a list or a DataLoader."""
    if _is_call(expression, "len"):
        return _count(expression.args[0], variables)
    return whole_number(expression, variables)


def _is_call(node: ast.expr, *names: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and bool(node.args) and name_of(node.func) in names
