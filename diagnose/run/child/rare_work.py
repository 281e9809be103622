"""What the training loop does in some rounds only, as its conditions say: `if step % eval_every == 0:`.

A validation every 500 steps lies in no short recording. The condition stands in the source, its numbers in
the variables of the loop, so it is known when it comes true next.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from .guard import guarded
from .places import Places

_LONGEST = 1 << 20  # characters of a file that is parsed
_FRAMES_AT_MOST = 30
_CONDITIONS_AT_MOST = 50
# a function that names one of these may hold the dictionary of its variables, which must not change
_HOLDS_LOCALS = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "f_locals"}
# names of functions that do more than to print a line
_HEAVY = re.compile(
    r"(?<![a-z])(eval|valid|val(?![a-z])|test)|Eval|Valid|Test|(?i:save|dump|sampl|generat|predict|plot|checkpoint)"
)


class _Unknown(Exception):
    """What an expression is worth cannot be told without running it."""


@dataclass(frozen=True)
class _Condition:
    """`count % modulus == rest`, true or not in a round of a loop in ``code``; its body lies in these lines.
    ``together``: what has to be true besides.
    """

    code: CodeType
    file: str
    line: int
    last_line: int
    count: ast.expr
    modulus: ast.expr
    rest: ast.expr
    together: tuple[ast.expr, ...]


class RareWork:
    """`begin` at a tick, then `look` at a later one, both in the thread that trains."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._counts: dict[_Condition, int] = {}  # at the begin
        self.facts: list[dict[str, Any]] = []

    @guarded("reading the conditions of the training loop")
    def begin(self) -> None:
        self._counts = {}
        for frame in self._frames():
            for condition in self._conditions(frame):
                try:
                    self._counts[condition] = _value(condition.count, _variables(frame))
                except _Unknown:
                    continue
                if len(self._counts) >= _CONDITIONS_AT_MOST:
                    return

    def look(self, steps: int) -> list[float]:
        """In how many steps each of what was not done since the begin, so many steps ago, will have been
        done. Fills `facts`.
        """
        return self._look(steps) or []

    @guarded("reading the conditions of the training loop")
    def _look(self, steps: int) -> list[float]:
        frames = {frame.f_code: frame for frame in self._frames()}
        found: list[dict[str, Any]] = []
        to_come: list[float] = []
        for condition, first in self._counts.items():
            frame = frames.get(condition.code)
            if frame is None:
                continue
            try:
                rhythm = _Rhythm(condition, first, frame, steps)
            except _Unknown:
                continue
            found.append(
                {
                    "file": condition.file,
                    "line": condition.line,
                    "last_line": condition.last_line,
                    "every": rhythm.every,
                    "seen": rhythm.was_seen,
                }
            )
            if not rhythm.was_seen:
                to_come.append(rhythm.next_in)
        self.facts = found
        return to_come

    def _frames(self) -> Iterator[FrameType]:
        """Of the script, from the innermost outwards."""
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_FRAMES_AT_MOST):
            if frame is None:
                return
            if self._places.user_file(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back

    def _conditions(self, frame: FrameType) -> Iterator[_Condition]:
        """Of the loops around the line that runs, and not of what it runs in itself."""
        file, line = self._places.user_file(frame.f_code.co_filename), frame.f_lineno or -1
        for node in _in_loops_around(_parsed(file, frame.f_code), line):
            if not isinstance(node, ast.If) or _holds(node.body, line):
                continue
            if any(self._is_heavy(statement, frame) for statement in node.body):
                last_line = node.body[-1].end_lineno or node.lineno
                for remainder in _remainders(node.test):
                    yield _Condition(frame.f_code, file, node.lineno, last_line, *remainder)

    def _is_heavy(self, statement: ast.stmt, frame: FrameType) -> bool:
        """Whether it may take long: it loops, opens a context, or calls more than prints a line."""
        for node in ast.walk(statement):
            if isinstance(node, (ast.For, ast.While, ast.With)):
                return True
            if isinstance(node, ast.Call) and (
                _HEAVY.search(_name(node.func)) or self._is_users(node.func, frame)
            ):
                return True
        return False

    def _is_users(self, function: ast.expr, frame: FrameType) -> bool:
        if not isinstance(function, ast.Name):
            return False
        called = frame.f_globals.get(function.id)
        return isinstance(called, FunctionType) and bool(self._places.user_file(called.__code__.co_filename))


class _Rhythm:
    """How often a condition comes true. Raises _Unknown where its numbers do not tell, or do not rise."""

    def __init__(self, condition: _Condition, first: int, frame: FrameType, steps: int) -> None:
        variables = _variables(frame)
        if any(_is_false(other, variables) for other in condition.together):
            raise _Unknown
        now, modulus, rest = (
            _value(expression, variables)
            for expression in (condition.count, condition.modulus, condition.rest)
        )
        rise = (now - first) / steps  # of the count, a step
        if rise <= 0 or modulus < 2:
            raise _Unknown
        # a condition after the line of the tick is asked with the number that this line saw
        asked_later = condition.line > (frame.f_lineno or -1)
        done = math.floor((now - asked_later - rest) / modulus)
        self.was_seen = done > math.floor((first - asked_later - rest) / modulus)
        self.every = round(modulus / rise)
        self.next_in = ((done + 1) * modulus + rest - now) / rise + 1


def _parsed(file: str, code: CodeType) -> list[ast.stmt]:
    """The body of what the code is of, empty where it cannot be read."""
    source = "".join(linecache.getlines(file))
    if not 0 < len(source) <= _LONGEST:
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    if code.co_name == "<module>":
        return tree.body
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if begin == code.co_firstlineno:
                return node.body
    return []


def _in_loops_around(statements: list[ast.stmt], line: int) -> Iterator[ast.AST]:
    """All that is in the outermost loop around a line."""
    for node in _within(*statements):
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)) and _holds(node.body, line):
            return _within(*node.body)
    return iter(())


def _within(*nodes: ast.AST) -> Iterator[ast.AST]:
    """These and all that is in them, but for functions and classes."""
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            yield from _within(*ast.iter_child_nodes(node))


def _holds(body: list[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or -1)


def _remainders(test: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, ast.expr, tuple[ast.expr, ...]]]:
    """`a % b == c`, also `not a % b`, with what has to be true at the same time."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            others = tuple(other for other in test.values if other is not part)
            for count, modulus, rest, together in _remainders(part):
                yield count, modulus, rest, (*together, *(others if isinstance(test.op, ast.And) else ()))
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if isinstance(test.operand, ast.BinOp) and isinstance(test.operand.op, ast.Mod):
            yield test.operand.left, test.operand.right, ast.Constant(0), ()
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        sides = test.left, test.comparators[0]
        for side, rest in (sides, sides[::-1]):
            if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mod):
                yield side.left, side.right, rest, ()


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _variables(frame: FrameType) -> dict[str, Any]:
    """What its names stand for. Raises _Unknown where to ask would change something of the script's."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return {**frame.f_globals, **frame.f_locals}
    if sys.gettrace() is not None or not _HOLDS_LOCALS.isdisjoint((*code.co_names, *code.co_varnames)):
        raise _Unknown
    local = frame.f_locals
    found = {**frame.f_globals, **local}
    if sys.version_info < (3, 13):
        local.clear()  # this copy would keep what the script lets go
    return found


def _value(expression: ast.expr, variables: dict[str, Any]) -> int:
    """Raises _Unknown for all but whole numbers."""
    value = _read(expression, variables)
    if type(value) is not int:
        raise _Unknown
    return value


def _is_false(expression: ast.expr, variables: dict[str, Any]) -> bool:
    """Known to be: a switch that is off."""
    try:
        value = _read(expression, variables)
    except _Unknown:
        return False
    return value is None or (type(value) in (bool, int, float, str) and not value)


def _read(expression: ast.expr, variables: dict[str, Any]) -> Any:
    """Without running anything of the script's."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.Name) and expression.id in variables:
        return variables[expression.id]
    if isinstance(expression, ast.Attribute):
        return _attribute(_read(expression.value, variables), expression.attr)
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        return _item(_read(expression.value, variables), expression.slice.value)
    if isinstance(expression, ast.BinOp):
        left, right = (_value(side, variables) for side in (expression.left, expression.right))
        if isinstance(expression.op, ast.Add):
            return left + right
        if isinstance(expression.op, ast.Sub):
            return left - right
        if isinstance(expression.op, ast.Mult):
            return left * right
        if isinstance(expression.op, ast.FloorDiv) and right:
            return left // right
    raise _Unknown


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
    raise _Unknown
