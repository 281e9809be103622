"""The line that pads sequences to one length, found in the source of what a loader's fetch runs, or of what
makes the batches without a loader.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from diagnose.measure.sources import Sources

PADS = re.compile(r"^(new_)?(full|zeros|ones|empty)$|pad", re.IGNORECASE)  # functions, of any library
TO_A_LENGTH = re.compile(r"max|pad|len", re.IGNORECASE)  # what they are given where a sample is padded
TO_ANY_SIZE = re.compile("")
ASKS_FOR_IT = re.compile(r"^(max_?\w*len\w*|padding|pad_to\w*)=|\bmax_?(seq\w*_?)?len", re.IGNORECASE)


class Function(NamedTuple):
    """That is defined in a file of the user's."""

    file: str
    node: ast.FunctionDef


class Padding(NamedTuple):
    """A line that pads, and the function that it is in."""

    file: str
    line: int
    function: str


def where_padded(sources: Sources, loader: dict[str, Any], ran: Iterable[tuple[str, str]]) -> Padding | None:
    """The first line of the user's collate function, or of their Dataset's sample, that makes tensors
    or lists of one size; else one that asks a library for it. None without one, or without the source.

    ``ran``: functions (file, name) that fetches call, in whatever file.
    """
    ways = [(loader.get("collated"), TO_ANY_SIZE), (loader.get("sample_made"), TO_A_LENGTH)]
    begins = [(made, sizes, _functions(sources, made, ran)) for made, sizes in ways if made]
    found = [_Paddings(functions, sizes).first_in(_at(functions, made)) for made, sizes, functions in begins]
    asked = [_first_request(_at(functions, made)) for made, _, functions in begins]
    return next(filter(None, [*found, *asked]), None)


def padded_beside(sources: Sources, ran: Iterable[tuple[str, str]]) -> Padding | None:
    """The line that pads to a length in the first of these functions (file, name) that has one; None where
    none has.
    """
    names = list(ran)
    functions = [
        Function(file, node)
        for file in dict.fromkeys(file for file, _ in names)
        for node in _defined(sources, file)
        if (file, node.name) in names
    ]
    functions.sort(key=lambda function: names.index((function.file, function.node.name)))
    paddings = _Paddings(functions, TO_A_LENGTH)
    return next(filter(None, map(paddings.first_in, functions)), None)


def _functions(sources: Sources, made: dict[str, Any], ran: Iterable[tuple[str, str]]) -> list[Function]:
    """All of the file where it is made, and those of other files that ran."""
    names = set(ran)
    files = [made["file"], *sorted({file for file, _ in names} - {made["file"]})]
    return [
        Function(file, node)
        for file in files
        for node in _defined(sources, file)
        if file == made["file"] or (file, node.name) in names
    ]


def _defined(sources: Sources, file: str) -> list[ast.FunctionDef]:
    text = "\n".join(line.rstrip("\n") for line in sources.lines(file))
    with suppress(SyntaxError, ValueError, RecursionError):
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return []


def _at(functions: Collection[Function], made: dict[str, Any]) -> Function | None:
    """The one that begins there."""
    for function in functions:
        begins = {function.node.lineno, *(decorator.lineno for decorator in function.node.decorator_list)}
        if function.file == made["file"] and int(made["line"]) in begins:
            return function
    return None


class _Paddings:
    """In functions that call each other."""

    def __init__(self, functions: Collection[Function], sizes: re.Pattern[str]) -> None:
        self._functions, self._sizes = functions, sizes
        self._found: dict[Function, Padding | None] = {}  # None where none pads, and while it is looked at

    def first_in(self, function: Function | None) -> Padding | None:
        """The first line there, or of a function called there."""
        if function is None or function in self._found:
            return self._found.get(function) if function else None
        self._found[function] = None
        for node in _expressions(function):
            if isinstance(node, ast.Call):
                found = self._of_call(node, function)
            else:
                found = _padding(node, function) if _is_filled_up(node) else None
            if found:
                self._found[function] = found
                break
        return self._found[function]

    def _of_call(self, call: ast.Call, function: Function) -> Padding | None:
        name = ast.unparse(call.func).rpartition(".")[2]
        called = [other for other in self._functions if other.node.name == name]
        if called:
            return next(filter(None, map(self.first_in, called)), None)
        pads = PADS.search(name) and self._sizes.search(ast.unparse(call))
        return _padding(call, function) if pads else None


def _first_request(function: Function | None) -> Padding | None:
    """The first call there that is given a length to pad to."""
    for node in _expressions(function) if function else ():
        if isinstance(node, ast.Call):
            given = map(ast.unparse, [*node.args, *node.keywords])
            if any(map(ASKS_FOR_IT.search, given)):
                assert function is not None
                return _padding(node, function)
    return None


def _expressions(function: Function) -> Iterator[ast.Call | ast.BinOp]:
    """In the order of their lines."""
    inside = (node for part in function.node.body for node in ast.walk(part))
    expressions = [node for node in inside if isinstance(node, (ast.Call, ast.BinOp))]
    return iter(sorted(expressions, key=lambda node: node.lineno))


def _padding(node: ast.expr, function: Function) -> Padding:
    return Padding(function.file, node.lineno, function.node.name)


def _is_filled_up(operation: ast.BinOp) -> bool:
    """Whether it is a list like `[PAD] * (length - len(ids))`."""
    sides = operation.left, operation.right
    return isinstance(operation.op, ast.Mult) and any(
        isinstance(one, ast.List) and isinstance(other, ast.BinOp) and isinstance(other.op, ast.Sub)
        for one, other in (sides, sides[::-1])
    )
