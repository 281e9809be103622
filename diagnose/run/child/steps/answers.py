"""What belongs to one answer of a model where nothing is trained.

A model may answer in a method that calls its parts: `model.recognize(sound)` runs `self.encoder` once, and
`self.decoder` for each character. No part's call is a step then, and how many there are differs from answer
to answer. The method is looked for around an outermost call of a part, and is taken for what ends steps once
it has called parts several times.

Or a model is asked the same several times, as for Monte Carlo dropout.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

import torch

from ..guard import guarded
from ..patching import Patches
from ..source.frame_values import Unknown, variables_of

_LEAST_ANSWERS = 3  # before the method is taken for what ends steps
_LEAST_PARTS = 2  # that an answer calls, on average
_MODELS_AT_MOST = 64  # whose inputs are known
_LOOKS_AT = (1, 2, 4, 8, 16)  # calls of parts: first an index may be filled, say
_PATIENCE = 500  # outermost calls of parts without so many answers: most scripts have no such method


class Answers:
    """``ended`` is called with the model after each answer, from the third one on. ``run`` calls the method:
    whoever wants to see what it returns replaces it.
    """

    def __init__(self, ended: Callable[[Any], None]) -> None:
        self.run: Callable[..., Any] = _call
        self._ended = ended
        self._patches = Patches()
        self._answers = self._parts = 0
        self._over = self._decided = False
        self._nesting = threading.local()

    def remove(self) -> None:
        self._patches.restore()
        self._over, self._decided = True, False

    @guarded("looking for the model's method")
    def part_called(self, module: torch.nn.Module) -> None:
        """An outermost call of a module has ended."""
        if self._over:
            return
        self._parts += 1
        if self._parts > _PATIENCE and self._answers < _LEAST_ANSWERS:
            self.remove()
        elif not self._patches and self._parts in _LOOKS_AT:
            found = _method_around(sys._getframe(), module)
            if found is not None:
                owner, name = found
                self._patches.replace(owner, name, self._counting(vars(owner)[name]))
                self._answers = self._parts = 0

    def _counting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        nesting, is_compiling = self._nesting, torch.compiler.is_compiling

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or getattr(nesting, "inside", False):
                return original(*args, **kwargs)
            nesting.inside = True
            try:
                result = self.run(original, *args, **kwargs)
            finally:
                nesting.inside = False
            self._answered(args)
            return result

        return method

    @guarded("the step clock")
    def _answered(self, args: tuple[Any, ...]) -> None:
        self._answers += 1
        if not self._over and self._answers >= _LEAST_ANSWERS:
            self._over = self._decided = self._parts >= _LEAST_PARTS * self._answers
        if self._decided:
            self._ended(args[0] if args else self)


def _call(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


def _method_around(frame: FrameType | None, part: torch.nn.Module) -> tuple[type, str] | None:
    """The outermost method of a module that holds this part: its class, and its name."""
    found = None
    while frame is not None:
        code = frame.f_code
        if code.co_argcount and code.co_varnames[0] == "self":
            try:
                owner = variables_of(frame).get("self")
            except Unknown:
                owner = None
            if (
                isinstance(owner, torch.nn.Module)
                and owner is not part
                and any(module is part for module in owner.modules())
            ):
                found = _defined(type(owner), code) or found
        frame = frame.f_back
    return found


def _defined(cls: type, code: CodeType) -> tuple[type, str] | None:
    """The class that defines the method, below torch's own; None where it is defined elsewhere."""
    for owner in cls.__mro__:
        method = vars(owner).get(code.co_name)
        if inspect.isfunction(method) and getattr(inspect.unwrap(method), "__code__", None) is code:
            return None if owner is torch.nn.Module else (owner, code.co_name)
    return None


# ---- the same input again


class Inputs:
    """Which calls of a model are about what it was asked the last time already, as those of Monte Carlo
    dropout.
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[weakref.ref[torch.Tensor], Again]] = {}  # by model

    def source(self, model: torch.nn.Module, given: Iterable[Any]) -> object:
        """What tells this call apart from the model's others: the model, or a word for asking again."""
        tensor = next((value for value in given if isinstance(value, torch.Tensor)), None)
        if tensor is None:
            return model
        last = self._last.get(id(model))
        if last is not None and last[0]() is tensor:
            return last[1]
        if len(self._last) >= _MODELS_AT_MOST:
            self._last.clear()
        self._last[id(model)] = (weakref.ref(tensor), Again() if last is None else last[1])
        return model


class Again:
    """A model is asked the same again."""
