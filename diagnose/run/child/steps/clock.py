"""The step clock: what the script itself calls a step, else optimizer steps, else outermost backward calls,
else calls of the method in which a model calls its parts, else outermost forwards of modules that own
parameters. Where one step of the optimizer evaluates the model
many times, as LBFGS does, each evaluation ticks.

A step captured as a CUDA graph calls no Python: where only replays of graphs come any more, they tick.
While one is captured, nothing does.

Nothing but the hooks that can still matter is installed: an optimizer that steps removes
the wrappers of backward and forward.
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType, SimpleNamespace
from typing import Any, Protocol

import torch
from torch.optim.optimizer import Optimizer, _global_optimizer_post_hooks, register_optimizer_step_post_hook

from ..accelerator import graph_classes, is_capturing
from ..guard import attempt, guarded
from ..inspection import compiler_in_use
from ..patching import Patches
from .answers import Answers, Inputs
from .evaluations import Evaluations
from .step_clock import StepClock

# private, and the one name that all backward calls go through: its owner, and the name
ENGINE: tuple[Any, str] = (torch.autograd, "_engine_run_backward")

_PATIENCE = 50  # backward calls without a step before an optimizer that was constructed is taken for unused
_REPLAYS = 50  # of captured graphs without anything else that ticks, before they are taken for the steps


class Listener(Protocol):
    """What the clock calls."""

    def tick(self, source: object) -> None:
        """A tick; `source` tells several optimizers, or models, apart. May raise, to stop the script."""

    def clock_upgraded(self, kind: StepClock) -> None:
        """Called before the first tick of a better clock."""

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None: ...

    def optimizer_stepped(self) -> None:
        """An optimizer's step has ended that is no tick, because the evaluations within it are."""


class Clock:
    """Tells a listener of ticks, of better clocks, and of the optimizers it sees on the way."""

    def __init__(self, listener: Listener) -> None:
        self.kind = StepClock.NONE
        self._listener = listener
        self._optimizer_constructed = False
        self._backwards = 0
        self._evaluations = Evaluations()
        self._answers = Answers(self._answered)
        self._inputs = Inputs()
        self._waits = False  # for the end of the step in which it was seen that evaluations tick
        # what our wrappers call; marks go here, inside the wrapper, so that they have ended when the tick
        # comes
        self.calls = SimpleNamespace(
            forward=torch.nn.Module.__call__, backward=getattr(*ENGINE), step_ended=None
        )
        self._nesting = threading.local()
        self._thread: threading.Thread | None = None
        self._construction, self._backward, self._forward, self._replay = (
            Patches(),
            Patches(),
            Patches(),
            Patches(),
        )
        self._replays, self._replays_least = 0, _REPLAYS  # since anything else ticked
        self._hook: Any = None

    def install(self, called: type = torch.nn.Module) -> None:
        """`called`: the class whose calls may be forwards."""
        self._hook = register_optimizer_step_post_hook(self._after_step)
        self._evaluations.install()
        self._construction.replace(Optimizer, "__init__", self._noticing_optimizers(Optimizer.__init__))
        self._backward.replace(*ENGINE, self._ticking(StepClock.BACKWARD))
        self.calls.forward = called.__call__
        self._forward_wrapper = self._ticking(StepClock.FORWARD)
        self._forward.replace(called, "__call__", self._forward_wrapper)
        for graph in graph_classes():
            self._replay.replace(graph, "replay", self._noticing_replays(graph.replay))  # type: ignore[attr-defined]
        self._construction.replace(torch, "compile", self._noticing_compilation(torch.compile))

    def place_for(self, kind: str) -> tuple[Any, str]:
        """Where a wrapper of `kind` (forward, answer, backward) goes:

        (owner, attribute). `step_ended` is called by every optimizer's step.
        """
        if kind == "step_ended":
            return self.calls, kind
        if kind == "answer":
            return self._answers, "run"
        if {"forward": self._forward, "backward": self._backward}[kind]:
            return self.calls, kind
        if kind == "backward":
            return ENGINE
        return (_compiled_module_class() if compiler_in_use() else torch.nn.Module), "__call__"

    def forward_unwrapped(self) -> AbstractContextManager[None]:
        """A context without our `Module.__call__`: a profiler with stacks learns at its first
        start what a module's call looks like.
        """
        return self._forward.suspended()

    def remove(self) -> None:
        if self._hook is not None and self._hook.id in _global_optimizer_post_hooks:
            # torch may be iterating over the hooks right now, so this one can be replaced but not taken out
            _global_optimizer_post_hooks[self._hook.id] = _no_hook
        self._evaluations.remove()
        self._answers.remove()
        for patches in (self._forward, self._backward, self._replay, self._construction):
            patches.restore()

    def take_out_hook(self) -> None:
        """What `remove` cannot do; not from inside an optimizer's step."""
        if self._hook is not None:
            self._hook.remove()

    @guarded("the step clock")
    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """Every optimizer step, in any thread.

        What is done here and in `_tick` is done at every tick of the plain phase: little.
        """
        step_ended = self.calls.step_ended
        if step_ended is not None:
            step_ended()
        if self._evaluations.many and not is_capturing():
            self._evaluations.step_ended()
            self._waits = False
            self._listener.optimizer_stepped()
        else:
            self._tick(StepClock.OPTIMIZER, optimizer)

    @guarded("the step clock")
    def step(self) -> None:
        """The script's own word that a step ends here; from the first one on nothing else ticks."""
        self._tick(StepClock.STEP, "step")

    def _answered(self, model: object) -> None:
        if not self._backwards:
            self._tick(StepClock.ANSWER, model)

    def _tick(self, kind: StepClock, source: object) -> None:
        if is_capturing():
            return
        if kind != StepClock.REPLAY:
            self._replays = 0
        if kind != self.kind:
            if kind != StepClock.REPLAY and kind.trust < self.kind.trust:
                return
            if self.kind == StepClock.REPLAY:  # too early: what ticks better does so seldom
                self._replays_least *= 10
            self._upgrade(kind)
        thread = threading.current_thread()
        if thread is not self._thread:  # one thread trains; another one takes over only when it has ended
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = thread
        self._listener.tick(source)

    def _upgrade(self, kind: StepClock) -> None:
        self.kind, self._thread = kind, None
        if kind not in (StepClock.FORWARD, StepClock.REPLAY):
            self._forward.restore()
        if kind not in (StepClock.FORWARD, StepClock.REPLAY, StepClock.ANSWER):
            self._answers.remove()
        if kind in (StepClock.OPTIMIZER, StepClock.STEP):
            self._backward.restore()
            self._evaluations.remove()
        if kind == StepClock.STEP:
            self._replay.restore()
        self._listener.clock_upgraded(kind)

    def _may_tick(self, kind: StepClock) -> bool:
        self._backwards += kind == StepClock.BACKWARD
        if kind == StepClock.FORWARD:
            return not self._backwards
        decided, is_new = self._evaluations.many, self._evaluations.is_new()
        if not self._evaluations.many:
            return not self._optimizer_constructed or self._backwards > _PATIENCE
        if not decided:
            # The recording of a clock of forwards is discarded, and what it saw begin
            # must end before another one starts.
            self._waits = self.kind in (StepClock.FORWARD, StepClock.ANSWER)
        return is_new and not self._waits

    def _ticking(self, kind: StepClock) -> Callable[..., Any]:
        nesting, calls, name = self._nesting, self.calls, kind.value
        is_compiling = torch.compiler.is_compiling

        original = getattr(calls, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or getattr(nesting, name, False):
                return original(*args, **kwargs)
            setattr(nesting, name, True)
            try:
                result = getattr(calls, name)(*args, **kwargs)
            finally:
                setattr(nesting, name, False)
            called(args, kwargs)
            return result

        @guarded("the step clock")
        def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            counts = kind == StepClock.BACKWARD or _owns_parameters(args[0])
            if counts and not getattr(nesting, "backward", False) and self._may_tick(kind):
                if kind != StepClock.FORWARD:
                    self._tick(kind, kind)
                    return
                self._answers.part_called(args[0])
                self._tick(kind, self._inputs.source(args[0], (*args[1:], *kwargs.values())))

        return call

    def _noticing_replays(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @guarded("the step clock")
        def replayed(graph: Any) -> None:
            self._replays += 1
            if self._replays > self._replays_least:
                self._tick(StepClock.REPLAY, graph)

        def replay(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            replayed(graph)
            return result

        return replay

    def _noticing_compilation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Compiled modules must be what they are without us, so from then on only the
        calls of the compiled model are wrapped.
        """

        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            module = attempt("watching `torch.compile`", lambda: _module_of(model), None)
            if module is None:
                return original(model, *args, **kwargs)
            ticks_by_forward = bool(self._forward)
            self._forward.restore()
            self._answers.remove()
            compiled = original(model, *args, **kwargs)
            if ticks_by_forward:
                self._wrap_compiled(compiled if isinstance(compiled, torch.nn.Module) else module)
            return compiled

        return functools.wraps(original)(compile)

    @guarded("watching `torch.compile`")
    def _wrap_compiled(self, module: torch.nn.Module) -> None:
        called = type(module)
        self.calls.forward = called.__call__
        self._forward.replace(called, "__call__", self._forward_wrapper)

    def _noticing_optimizers(self, original: Callable[..., None]) -> Callable[..., None]:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._constructed(optimizer, sys._getframe(1))

        return __init__

    @guarded("watching where optimizers are made")
    def _constructed(self, optimizer: Optimizer, frame: FrameType) -> None:
        self._optimizer_constructed = True
        self._forward.restore()
        self._answers.remove()
        self._listener.optimizer_constructed(optimizer, frame)


def _module_of(model: Any) -> torch.nn.Module | None:
    """The module that is compiled, or whose method is; None for a function."""
    owner = getattr(model, "__self__", model)
    return owner if isinstance(owner, torch.nn.Module) else None


@guarded("standing in for a hook")
def _no_hook(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    return None


def _compiled_module_class() -> type:
    return sys.modules["torch._dynamo.eval_frame"].OptimizedModule


def compiled_model_class() -> type | None:
    """Of the models that were compiled before we came, whose parts must be left
    as they are; None if there are none.
    """
    if "torch._dynamo.eval_frame" not in sys.modules:
        return None
    modules = [found for found in gc.get_objects() if issubclass(type(found), torch.nn.Module)]
    compiled = (
        type(module)
        for module in modules
        if isinstance(module, _compiled_module_class()) or vars(module).get("_compiled_call_impl")
    )
    return next(compiled, None)


def _owns_parameters(module: torch.nn.Module) -> bool:
    return next(module.parameters(), None) is not None
