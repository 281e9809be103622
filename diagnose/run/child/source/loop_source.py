"""The loops of a script, from its source."""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from torch.utils.data import DataLoader

from .frame_values import Unknown, read, whole_number

Loop = ast.For | ast.While | ast.AsyncFor
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# functions of their own, by the names that CPython gives these; since 3.12 only generators are
_FUNCTIONS: dict[str, type[_Comprehension]] = {
    "<genexpr>": ast.GeneratorExp,
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
}
_INLINE: tuple[type[_Comprehension], ...] = (
    (ast.ListComp, ast.SetComp, ast.DictComp) if sys.version_info >= (3, 12) else ()
)
# count, modulus, rest, and what has to be true besides
Remainder = tuple[ast.expr, ast.expr, ast.expr, tuple[ast.expr, ...]]
_LONGEST = 1 << 20  # characters of a file that is parsed
_ITEMS_AT_MOST = 1_000_000  # of a list that is looked through: some 20 ms


class LoopSource:
    """Of files that are parsed once."""

    def __init__(self) -> None:
        self._trees: dict[str, list[ast.stmt]] = {}

    def loops_around(self, file: str, code: CodeType, line: int) -> Iterator[Loop]:
        """Those around a line of the code, outermost first; none where the source cannot be read. A
        comprehension is one, too.
        """
        if is_comprehension(code):
            kind = _FUNCTIONS[code.co_name]
            for node in itertools.chain.from_iterable(map(ast.walk, self._tree(file))):
                if isinstance(node, kind) and node.lineno == code.co_firstlineno and _holds(node, line):
                    yield from as_loops(node)
            return
        for node in within(*self.body(file, code)):
            if isinstance(node, Loop) and holds(node.body, line):
                yield node
            elif isinstance(node, _INLINE) and _holds(node, line):
                yield from as_loops(node)

    def body(self, file: str, code: CodeType) -> list[ast.stmt]:
        """Of a function, or of the module; empty where the source cannot be read."""
        tree = self._tree(file)
        if code.co_name == "<module>":
            return tree
        for statement in tree:
            for node in ast.walk(statement):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
                    decorators = [decorator.lineno for decorator in node.decorator_list]
                    if min([node.lineno, *decorators]) == code.co_firstlineno:
                        return node.body
        return []

    def _tree(self, file: str) -> list[ast.stmt]:
        if file not in self._trees:
            self._trees[file] = _parsed("".join(linecache.getlines(file)))
        return self._trees[file]


def is_comprehension(code: CodeType) -> bool:
    return code.co_name in _FUNCTIONS


def _holds(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or -1)


def as_loops(comprehension: _Comprehension) -> Iterator[ast.For]:
    """The same as statements, outermost first."""
    parts = (
        [comprehension.key, comprehension.value]
        if isinstance(comprehension, ast.DictComp)
        else [comprehension.elt]
    )
    body: list[ast.stmt] = [ast.copy_location(ast.Expr(part), part) for part in parts]
    for over in comprehension.generators:
        yield ast.copy_location(ast.For(over.target, over.iter, body, []), comprehension)


def _parsed(source: str) -> list[ast.stmt]:
    if not 0 < len(source) <= _LONGEST:
        return []
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        return []


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
    parts = loop.test.values if _is_all_of(loop.test) else [loop.test]
    for part in parts:
        for count, limit, up_to in _limits(part):
            rise = _rise(loop.body, ast.unparse(count))
            if rise:
                rounds = -((_length(limit, variables) + up_to) // -rise)
                return min(whole_number(count, variables) // rise, rounds - 1), rounds
    raise Unknown


def _is_all_of(test: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _limits(test: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Count and limit, and whether the limit is reached: of `a < b` and `a <= b`, whichever way round."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return
    left, right, op = test.left, test.comparators[0], test.ops[0]
    if isinstance(op, (ast.Lt, ast.LtE)):
        yield left, right, isinstance(op, ast.LtE)
    elif isinstance(op, (ast.Gt, ast.GtE)):
        yield right, left, isinstance(op, ast.GtE)


def _rise(body: list[ast.stmt], count: str) -> int:
    """What statements of a round add to the count; 0 where that is not one number each time."""
    rises = [_added_by(statement, count) for statement in body if _sets(statement, count)]
    return max(0, rises[0]) if len(rises) == 1 else 0


def _sets(statement: ast.stmt, name: str) -> bool:
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [statement.target]
        if isinstance(statement, ast.AugAssign)
        else []
    )
    return name in map(ast.unparse, targets)


def _added_by(statement: ast.stmt, name: str) -> int:
    """By `name += 1` and `name = name + 1`; 0 for all else."""
    if isinstance(statement, ast.AugAssign):
        changed = ast.BinOp(statement.target, statement.op, statement.value)
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        changed = statement.value
    else:
        return 0
    is_sum = isinstance(changed.op, ast.Add) and ast.unparse(changed.left) == name
    added = changed.right.value if isinstance(changed.right, ast.Constant) else None
    return added if is_sum and type(added) is int else 0


def _count(over: ast.expr, variables: dict[str, Any]) -> int:
    """Of a list's items, or of a DataLoader's batches."""
    held = None if _is_call(over, "range") else read(over, variables)
    if not isinstance(held, DataLoader):
        return len(_items(over, variables))
    try:
        return len(held)
    except Exception as error:  # of a sampler of the script's
        raise Unknown from error


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


def within(*nodes: ast.AST) -> Iterator[ast.AST]:
    """These and all that is in them, but for functions and classes."""
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            yield from within(*ast.iter_child_nodes(node))


def holds(body: list[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or -1)


class Guarded(NamedTuple):
    """Statements that run where a test comes out as ``when``; the test is asked at ``line``."""

    line: int
    test: ast.expr
    when: bool
    body: list[ast.stmt]


def guarded_in(statements: list[ast.stmt]) -> Iterator[Guarded]:
    """Under an `if`, and behind one that ends the round or the function."""
    bodies = [statements]
    for node in within(*statements):
        if isinstance(node, ast.If):
            yield Guarded(node.lineno, node.test, True, node.body)
        elif isinstance(node, Loop):
            bodies.append(node.body)
    for body in bodies:
        yield from _behind_ends(body)


def _behind_ends(body: list[ast.stmt]) -> Iterator[Guarded]:
    for number, statement in enumerate(body[:-1]):
        if (
            isinstance(statement, ast.If)
            and not statement.orelse
            and isinstance(statement.body[-1], (ast.Return, ast.Continue))
        ):
            yield Guarded(statement.lineno, statement.test, False, body[number + 1 :])


def remainders_when(test: ast.expr, when: bool) -> Iterator[Remainder]:
    """Of the test, or of its contrary: `if step % 50: return`."""
    if when:
        yield from remainders(test)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotEq):
        yield from remainders(ast.Compare(test.left, [ast.Eq()], test.comparators))
    else:
        yield from remainders(ast.UnaryOp(ast.Not(), test))


def remainders(test: ast.expr) -> Iterator[Remainder]:
    """`a % b == c`, also `not a % b`, with what has to be true at the same time."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            others = tuple(other for other in test.values if other is not part)
            for count, modulus, rest, together in remainders(part):
                yield count, modulus, rest, (*together, *(others if isinstance(test.op, ast.And) else ()))
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if isinstance(test.operand, ast.BinOp) and isinstance(test.operand.op, ast.Mod):
            yield test.operand.left, test.operand.right, ast.Constant(0), ()
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        sides = test.left, test.comparators[0]
        for side, rest in (sides, sides[::-1]):
            if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mod):
                yield side.left, side.right, rest, ()


def name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
