"""Marks: named ranges with the user's file:line around forward, backward, optimizer, loader, and
every read that can make the host wait.

The wrappers exist only while a profiler of ours records; then every attribute is what it was before.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Protocol

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import dataloader

from ..facts.garbage import CollectorCallback, is_full
from ..guard import guarded, note
from ..inspection import compiler_in_use
from ..overridden import ours, told_of
from ..patching import Patches
from ..places import Places
from ..processor import PARTS, Processor
from .index_marks import IndexMarks
from .ranges import mark

_READS = ("item", "tolist", "cpu", "numpy", "to", "cuda", "nonzero")
_DUNDER_READS = ("bool", "float", "int", "index", "repr", "format")


# not `__getitem__`, see `index_marks`
_OPERATORS = tuple(
    f"__{name}__"
    for plain in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
    )
    for name in (plain, "r" + plain, "i" + plain)
) + tuple(f"__{name}__" for name in ("neg", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge", "contains"))


class Observer:
    """What the facts want to know of the marked calls, told before each call; a forward or
    a fetch may be run inside a context.
    """

    def forward(
        self, frame: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> AbstractContextManager[None] | None: ...
    def backward(self) -> None: ...
    def fetch(self, iterator: Any) -> AbstractContextManager[None] | None: ...
    def optimizer(self, optimizer: Any) -> None: ...


class Beside(Protocol):
    """Other wrappers that exist as long as the marks do; not with torch.compile in use."""

    def install(self) -> None: ...
    def remove(self) -> None: ...


class Marks:
    """Installs the wrappers and removes them again; reports the marked calls to `observer`."""

    def __init__(
        self,
        places: Places,
        observer: Observer,
        place_for: Callable[[str], tuple[Any, str]],
        processor: Processor,
        beside: Sequence[Beside] = (),
        after_call: Callable[[], None] = lambda: None,
    ) -> None:
        """`place_for(kind)` is the attribute to wrap for forward and backward, which the clock may have
        wrapped already, and the one for what an optimizer's step calls at its end. ``after_call``: told of
        the end of each marked call that is in no other; it may remove the marks.
        """
        self._beside, self._after_call = beside, after_call
        self._sample = processor.sample
        self._place_for = place_for
        self._places, self._observer = places, observer
        self._patches = Patches()
        self._step_hook: Any = None
        self._inside = threading.local()
        self._collector = CollectorCallback(self._collecting)
        self._index_marks = IndexMarks(places)

    def install(self, *, operators: bool) -> None:
        """`operators`: also make ``a @ b`` a Python call, so that a profiler with
        stacks sees the line it is made from, and mark the lines that index.

        Compiled code is valid for the functions it was compiled with, so with torch.compile in use
        only what it never sees is wrapped.
        """
        replace, wrap = self._patches.replace, self._wrap
        observer = self._observer
        if not compiler_in_use():
            for other in self._beside:
                other.install()
            self._wrap_reads()
            if operators:
                self._wrap_operators()
                self._index_marks.begin(sys._getframe())
        for kind, notice in (("forward", observer.forward), ("backward", lambda *_: observer.backward())):
            owner, name = self._place_for(kind)
            replace(owner, name, wrap(kind, kind, getattr(owner, name), notice))
        iterator = dataloader._BaseDataLoaderIter
        replace(
            iterator,
            "__next__",
            wrap("next", "next", iterator.__next__, lambda frame, args, kwargs: observer.fetch(args[0])),
        )
        replace(dataloader.DataLoader, "__iter__", wrap("iter", "iter", dataloader.DataLoader.__iter__))
        self._collector.install()
        owner, name = self._place_for("step_ended")
        replace(owner, name, self._step_ended)
        self._step_hook = register_optimizer_step_pre_hook(self._step_begins)

    def _wrap_reads(self) -> None:
        replace, wrap, tensor = self._patches.replace, self._wrap, torch.Tensor
        for name in _READS:
            replace(tensor, name, wrap("read", name, getattr(tensor, name)))
        for name in _DUNDER_READS:
            replace(tensor, f"__{name}__", wrap("read", name, getattr(tensor, f"__{name}__")))
        replace(torch, "nonzero", wrap("read", "nonzero", torch.nonzero))
        replace(torch.cuda, "synchronize", wrap("read", "synchronize", torch.cuda.synchronize))

    def _wrap_operators(self) -> None:
        for name in _OPERATORS:
            if hasattr(torch.Tensor, name):
                self._patches.replace(torch.Tensor, name, _called(getattr(torch.Tensor, name)))

    def remove(self) -> None:
        self._index_marks.end()
        self._patches.restore()
        # where a step is one of the evaluations within the optimizer's, that is still open
        self._step_ended()
        for other in self._beside:
            other.remove()
        self._collector.remove()
        if self._step_hook is not None:
            self._step_hook.remove()
            self._step_hook = None

    def marked_read(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is while the marks are installed."""
        return self._wrap("read", kind, original)

    def _wrap(
        self, group: str, kind: str, original: Callable[..., Any], notice: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """`original` inside a mark, unless a mark of the same group is open already."""
        inside, sample, border = self._inside, self._sample, PARTS.get(kind, 0)
        where = self._where_read if group == "read" else self._where
        is_compiling, frame_of = torch.compiler.is_compiling, sys._getframe
        is_method = group == "read" and original is not torch.cuda.synchronize
        prefix = f"diagnose::{kind}|"

        def begin(
            frame: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]
        ) -> list[AbstractContextManager[Any]]:
            opened: list[AbstractContextManager[Any]] = []
            try:
                with torch._C.DisableTorchFunction():  # a mode of the script's is not told what we ask
                    context = notice(frame, args, kwargs) if notice is not None else None
                if border:
                    sample(border)
                for entered in (mark(prefix + where(frame)), context):
                    if entered is not None:
                        entered.__enter__()
                        opened.append(entered)
            except Exception as error:
                note(f"the mark around {kind}", error)
            return opened

        def end(opened: list[AbstractContextManager[Any]], *error: Any) -> None:
            while opened:
                try:
                    opened.pop().__exit__(*error)
                except Exception as ours:
                    note(f"the mark around {kind}", ours)
            if border:
                sample(-border)
            setattr(inside, group, False)
            if not any(vars(inside).values()):
                self._after_call()

        @ours
        def marked(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            call = told_of(original, args) if is_method else original
            if getattr(inside, group, False):
                return call(*args, **kwargs)
            setattr(inside, group, True)
            opened = begin(frame_of(1), args, kwargs)
            try:
                result = call(*args, **kwargs)
            except BaseException as error:
                end(opened, type(error), error, error.__traceback__)
                raise
            end(opened, None, None, None)
            return result

        return marked

    @guarded("the mark around the optimizer's step")
    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling() or getattr(self._inside, "optimizer", None):
            return
        self._observer.optimizer(optimizer)
        self._sample(PARTS["optimizer"])
        self._inside.optimizer = opened = mark("diagnose::optimizer|" + self._where(sys._getframe(1)))
        opened.__enter__()

    @guarded("the mark around the optimizer's step")
    def _step_ended(self) -> None:
        """Close the optimizer's mark: called by the clock, whose own hook ends the step."""
        opened = getattr(self._inside, "optimizer", None)
        if opened is not None:
            self._inside.optimizer = None
            opened.__exit__(None, None, None)
            self._sample(-PARTS["optimizer"])

    @guarded("the mark around garbage collections")
    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        """The garbage collector's callback: marks full collections."""
        if phase == "start" and is_full(info):
            self._inside.collection = opened = mark("diagnose::gc|" + self._where(sys._getframe().f_back))
            opened.__enter__()
        elif phase == "stop" and (opened := getattr(self._inside, "collection", None)) is not None:
            self._inside.collection = None
            opened.__exit__(None, None, None)

    def _where(self, frame: FrameType | None) -> str:
        file, line, function = self._places.nearest(frame)
        return f"{file}|{line}|{function}"

    def _where_read(self, frame: FrameType | None) -> str:
        (file, line, function), via = self._places.nearest_via(frame)
        return f"{file}|{line}|{function}|{via}" if via else f"{file}|{line}|{function}"


def _called(original: Callable[..., Any]) -> Callable[..., Any]:
    @ours
    def operator(*args: Any) -> Any:
        return told_of(original, args)(*args)

    return operator
