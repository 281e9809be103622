"""The loops of a script, from its source."""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple, TypeAlias

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
