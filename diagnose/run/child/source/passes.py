"""Passes over data beside the training: which evaluations the source of a loop tells of, and over how many
samples each goes. Nothing of the script's is run but `len` of its DataLoaders and data sets.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, SequentialSampler

from ..lengths import length
from ..places import Places
from .called_source import called_by
from .frame_values import Unknown, read, truth, whole_number
from .loop_source import COMPREHENSIONS, Loop, LoopSource, as_loops, name_of, within

_DEPTH = 3  # of calls within calls
_CALLS_AT_MOST = 200
# they hand on what they are given, item for item; log_every is that of torchvision's references
_HANDS_ON = {"enumerate", "tqdm", "track", "iter", "zip", "list", "sorted", "reversed", "log_every"}
_COUNTS = {"range", "trange"}
_BACKWARD = {"backward", "manual_backward"}


class Data(NamedTuple):
    """What a loop goes over. ``unit``: of which it has so many. ``batch``: these at a time, None where that
    is not known. ``origin``: what it comes from; two loaders may have one data set.
    """

    origin: Any
    unit: Literal["sample", "item", "round"]
    items: int
    batch: int | None


class Pass(NamedTuple):
    """``line``: where it is made, or what makes it is called. ``epochs``: its samples, of those that an epoch
    trains on. ``batches``: the same in batches of the training's size, None where that is not known.
    """

    line: int
    epochs: float
    batches: float | None
    is_training_data: bool


@dataclass(frozen=True)
class Scope:
    """What names stand for in a function. ``assigned``: statements that may give them other values before a
    pass begins; ``body``: all of the function. ``given``: parameters that are known as data only.
    """

    variables: dict[str, Any]
    body: Sequence[ast.stmt]
    assigned: Sequence[ast.stmt]
    given: dict[str, Data] = field(default_factory=dict)

    def data(self, over: ast.expr, depth: int = _DEPTH) -> Data | None:
        """What a loop over that expression goes over; None where that is not known."""
        if isinstance(over, ast.Call):
            return self._of_call(over, depth)
        values = self._values(over.id, self.assigned) if isinstance(over, ast.Name) else []
        if len(values) > 1:
            return None
        if isinstance(over, ast.Name) and over.id in self.given:
            return self.given[over.id]
        with contextlib.suppress(Unknown):
            if found := _data(read(over, self.variables)):
                return found
        values = self._values(over.id, self.body) if isinstance(over, ast.Name) else []
        return self.data(values[0], depth - 1) if len(values) == 1 and values[0] and depth else None

    def _of_call(self, call: ast.Call, depth: int) -> Data | None:
        name = name_of(call.func)
        if name in _COUNTS and len(call.args) == 1:
            return self._of_count(call.args[0], depth)
        if name not in _HANDS_ON:
            return None
        found = [data for argument in call.args if (data := self.data(argument, depth))]
        return min(found, key=lambda data: data.items, default=None)

    def _of_count(self, count: ast.expr, depth: int) -> Data | None:
        if isinstance(count, ast.Call) and name_of(count.func) == "len" and len(count.args) == 1:
            return self.data(count.args[0], depth)
        with contextlib.suppress(Unknown):
            return Data(None, "round", whole_number(count, self.variables), 1)
        return None

    @staticmethod
    def _values(name: str, statements: Sequence[ast.stmt]) -> list[ast.expr | None]:
        """What these set it to, None for what is no plain assignment."""
        found: list[ast.expr | None] = []
        plain = set()
        for node in within(*statements):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name) and target.id == name:
                    plain.add(id(target))
                    found.append(node.value)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
                found += [] if id(node) in plain else [None]
        return found


class Passes:
    """Finds them. ``trained``: what an epoch of the training goes over, None where that is not known."""

    def __init__(self, trained: Data | None, source: LoopSource, places: Places) -> None:
        self._trained, self._source, self._places, self._calls = trained, source, places, 0

    def of(self, statements: Iterable[ast.stmt], scope: Scope) -> Iterator[Pass]:
        """That the statements are sure to make. Those that train, that may end early, or that ask no model
        are left out.
        """
        trained = self._trained
        if trained is None or not trained.items:
            return
        for line, data in self._found(statements, scope, _DEPTH):
            if data.unit == trained.unit:
                batches = data.items / trained.batch if trained.batch else None
                is_same = data.origin is trained.origin and data.unit != "round"
                yield Pass(line, data.items / trained.items, batches, is_same)

    def _found(self, statements: Iterable[ast.stmt], scope: Scope, depth: int) -> Iterator[tuple[int, Data]]:
        nodes = list(_running(statements, scope, doubtful=False))
        inner, counted = _in_loops(nodes), set[int]()  # counted: in loops that were found
        for node in nodes:
            if id(node) in counted:
                continue
            if isinstance(node, (ast.For, ast.AsyncFor, *COMPREHENSIONS)):
                loop = node if isinstance(node, (ast.For, ast.AsyncFor)) else next(as_loops(node))
                data = scope.data(loop.iter)
                often = data and data.unit != "sample" and id(node) in inner  # nobody knows how often
                if data and not often and self._evaluates(loop, data, scope):
                    counted |= set(map(id, within(*loop.body)))
                    yield node.lineno, data
            elif isinstance(node, ast.Call) and depth and (called := self._inside(node, scope)):
                for _, data in self._found(called.body, called, depth - 1):
                    yield node.lineno, data

    def _evaluates(self, loop: Loop, data: Data, scope: Scope) -> bool:
        nodes = list(_running(loop.body, scope, doubtful=True))
        inner = _in_loops(nodes)
        ends_early = any(
            isinstance(node, ast.Return) or (isinstance(node, ast.Break) and id(node) not in inner)
            for node in nodes
        )
        # rounds are forwards only where each has one
        asks_model = any(
            _is_model(node, scope) for node in nodes if data.unit == "sample" or id(node) not in inner
        )
        return asks_model and not ends_early and not self._trains(loop.body, scope, _DEPTH)

    def _trains(self, statements: Iterable[ast.stmt], scope: Scope, depth: int) -> bool:
        """Or may."""
        for node in _running(statements, scope, doubtful=True):
            if isinstance(node, ast.Call):
                if name_of(node.func) in _BACKWARD:
                    return True
                inner = self._inside(node, scope) if depth else None
                if inner and self._trains(inner.body, inner, depth - 1):
                    return True
        return False

    def _inside(self, call: ast.Call, scope: Scope) -> Scope | None:
        """Of the function of the script's that is called."""
        if self._calls >= _CALLS_AT_MOST:
            return None
        self._calls += 1
        called = called_by(call, scope.variables, self._source, self._places)
        if called is None:
            return None
        own = set(called.code.co_varnames)
        variables = {name: value for name, value in called.variables.items() if name not in own}
        given = {}
        for name, expression in called.given.items():
            if data := scope.data(expression):
                given[name] = data
            with contextlib.suppress(Unknown):
                variables[name] = read(expression, scope.variables)
        return Scope(variables, called.body, called.body, given)


def _data(held: Any) -> Data | None:
    kind = type(held)
    try:
        if issubclass(kind, DataLoader):
            samples, batches, batch = len(held.dataset), length(held), held.batch_size
            if batches is None:
                return None
            takes_all = type(held.sampler) in (RandomSampler, SequentialSampler)
            origin = held.dataset if takes_all else held.sampler  # which may take another part of it
            return Data(origin, "sample", min(samples, batches * batch) if batch else samples, batch)
        if issubclass(kind, Dataset):
            return Data(held, "sample", len(held), None)
        if kind in (list, tuple) and len(held) > 1:
            return Data(held, "item", len(held), 1)
    except Exception:  # of the script's: a data set without an end has no length
        return None
    return None


def _running(nodes: Iterable[ast.AST], scope: Scope, *, doubtful: bool) -> Iterator[ast.AST]:
    """These and all that runs in them; ``doubtful``: also what may."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if not isinstance(node, (ast.If, ast.IfExp)):
            yield node
            yield from _running(ast.iter_child_nodes(node), scope, doubtful=doubtful)
            continue
        is_true = truth(node.test, scope.variables)
        yield from _running([node.test], scope, doubtful=doubtful)
        for when, branch in ((True, node.body), (False, node.orelse)):
            if is_true is when or (is_true is None and doubtful):
                inner = branch if isinstance(branch, list) else [branch]
                yield from _running(inner, scope, doubtful=doubtful)


def _is_model(node: ast.AST, scope: Scope) -> bool:
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    try:
        return issubclass(type(read(node, scope.variables)), torch.nn.Module)
    except Unknown:
        return False


def _in_loops(nodes: Iterable[ast.AST]) -> set[int]:
    """Those that are in a loop among them, by identity."""
    return {id(inner) for node in nodes if isinstance(node, Loop) for inner in within(*node.body)}
