"""What fills memory, held against torch's own counter and against sums made by hand."""

from __future__ import annotations

import gc
import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.grad_mode import inference_mode
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from diagnose.measure.memory_peak import MemoryLook as Seen
from diagnose.run.child import guard
from diagnose.run.child.memory import storage_log, storages
from diagnose.run.child.memory.held import _NothingIsComputed, held_at
from diagnose.run.child.memory.memory_look import MemoryLook
from diagnose.run.child.memory.storages import living, owners, storage_of
from diagnose.run.child.places import Places

HERE = str(Path(__file__).parent)
BATCH = 64


class Task:
    """A model, and a step that trains it."""

    def __init__(self, model: nn.Module, *shape: int) -> None:
        self.model, self.shape = model, shape
        self.optimizer = torch.optim.Adam(model.parameters())
        self.kept: list[torch.Tensor] = []

    def step(self) -> None:
        x = torch.randn(BATCH, *self.shape)
        self.optimizer.zero_grad()
        out = self.model(x)
        loss = (out[0] if isinstance(out, tuple) else out).square().mean()
        loss.backward()
        self.optimizer.step()

    def look(self) -> MemoryLook:
        return MemoryLook(Places(HERE, HERE))


def mlp() -> Task:
    return Task(nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 10)), 100)


TASKS: dict[str, Callable[[], Task]] = {
    "mlp": mlp,
    "cnn": lambda: Task(
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        3,
        16,
        16,
    ),
    "lstm": lambda: Task(nn.LSTM(16, 32, batch_first=True), 10, 16),
    "transformer": lambda: Task(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 12, 32),
}


def told(task: Task, steps: int = 2, look: MemoryLook | None = None) -> dict[str, Any]:
    task.step()
    look = look or task.look()
    assert look.begin()
    for number in range(steps):
        task.step()
        assert look.step() is (number == steps - 1)
    assert look.told is not None and not guard.notes()
    return look.told


@pytest.fixture(autouse=True)
def one_place() -> Iterator[None]:
    """Nothing failed before, and nothing is to be collected meanwhile."""
    guard._failures.clear()
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    assert _get_current_dispatch_mode() is None


@pytest.mark.parametrize("name", TASKS)
def test_what_is_held_is_what_torch_counts(name: str) -> None:
    """To the byte, at the end and at the peak; torch counts what came after it began to."""
    from torch._C._profiler import _EventType
    from torch.autograd.profiler import profile

    task = TASKS[name]()
    task.step()
    look = task.look()
    with profile(use_device=None, profile_memory=True, use_kineto=True) as profiler:
        assert look.begin()
        task.step()
        look.step()
        task.step()
        look.step()

    def all_of(events: list[Any]) -> Iterator[Any]:
        for event in events:
            yield event
            yield from all_of(event.children)

    assert profiler.kineto_results is not None and look.told is not None
    events = sorted(
        (
            event
            for event in all_of(profiler.kineto_results.experimental_event_tree())
            if event.tag == _EventType.Allocation
        ),
        key=lambda event: event.start_time_ns,
    )
    counted = in_window([(event.extra_fields.ptr, event.extra_fields.alloc_size) for event in events])
    new = {**look.told, "storages": [row for row in look.told["storages"] if row[1] >= 0]}
    curve = Seen(new).curve("cpu")
    assert curve[-1] == counted[-1] > 0
    assert curve.max() in counted and curve.max() <= max(counted)


def in_window(events: list[tuple[int, int]]) -> list[int]:
    """What is held after each event, of what was made in one of them: what is older may go at any time."""
    made: set[int] = set()
    held, counted = 0, []
    for address, size in events:
        if size > 0:
            made.add(address)
        elif address not in made:
            continue
        held += size
        counted.append(held)
    return counted


def of_others() -> Counter[str]:
    """Bytes of models that other tests of this process have left, by part."""
    found: Counter[str] = Counter()
    alive = living()
    known = owners(alive)
    by_key = {storage._cdata: storage for tensor in alive.tensors if (storage := storage_of(tensor))}
    for key, storage in by_key.items():
        if key in known:
            found[known[key].part] += storage.nbytes()
    return found


def test_the_parts_of_a_small_net_by_hand() -> None:
    others = of_others()
    seen = Seen(told(mlp()))
    (peak,) = seen.peaks
    parts = {part.part: part.bytes for part in peak.parts}
    parameters = 4 * (100 * 200 + 200 + 200 * 10 + 10)
    assert parts["parameters"] - others["parameters"] == parameters
    assert parts["gradients"] - others["gradients"] == parameters
    # two moments, and a count for each of four tensors
    assert parts["state"] - others["state"] == 2 * parameters + 4 * 4
    # Adam holds a root of each second moment while it steps: of the first weight, when most is held
    assert peak.during == "optimizer"
    assert sum(parts.values()) == peak.total and peak.tensors == peak.total - parts["outside"]


def with_its_gradients() -> nn.Linear:
    layer = nn.Linear(300, 100)
    layer(torch.randn(4, 300)).sum().backward()
    return layer


def test_gradients_that_nobody_has_asked_for_are_there() -> None:
    """As those of a network that is only trained through: nobody but the engine knows them."""
    others, task, judge = of_others(), mlp(), with_its_gradients()
    (peak,) = Seen(told(task)).peaks
    gradients = {part.part: part.bytes for part in peak.parts}["gradients"] - others["gradients"]
    assert gradients == 4 * (100 * 200 + 200 + 200 * 10 + 10) + 4 * (300 * 100 + 100)
    assert judge.weight.grad is not None


def test_gradients_that_nobody_has_asked_for_are_there_when_memory_runs_out() -> None:
    others, judge = of_others(), with_its_gradients()
    try:
        raise RuntimeError("out of memory")
    except RuntimeError as error:
        held = held_at(error, Places(HERE, HERE))
    parts = [held["origins"][row[3]]["part"] for row in held["storages"]]
    sizes = [row[0] for row, part in zip(held["storages"], parts, strict=True) if part == "gradients"]
    assert sum(sizes) - others["gradients"] == 4 * (300 * 100 + 100)
    assert judge.weight.grad is not None


def test_activations_are_what_the_backward_needs() -> None:
    """In the backward of the square: ReLU's result is kept for it, Linear's is gone."""
    seen = Seen(told(Task(nn.Sequential(nn.Linear(4, 400), nn.ReLU()), 4)))
    (peak,) = seen.peaks
    assert peak.during == "backward"
    assert {part.part: part.bytes for part in peak.parts}["activations"] == 4 * BATCH * 400
    (holder,) = [one for one in peak.holders if one.part == "activations"]
    assert (Path(holder.file).name, holder.line) == (Path(__file__).name, line_of("out = self.model(x)"))
    assert (holder.module, holder.count) == ("1", 1)


def test_what_stays_is_told_with_its_line_and_its_size() -> None:
    task = mlp()

    def step() -> None:
        x = torch.randn(BATCH, 100)
        loss = task.model(x).square().mean()
        task.kept.append(loss * 1)  # with its graph
        task.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        task.optimizer.step()

    task.step = step  # type: ignore[method-assign]
    kept = {one.line: one.bytes for one in Seen(told(task)).kept()}
    assert kept[line_of("task.kept.append(loss * 1)")] == 4
    # the graph keeps the batch (64 × 100), both layers' results (64 × 200) and the squares' input (64 × 10)
    assert kept[line_of("loss = task.model(x).square().mean()")] >= 4 * BATCH * 200


def test_nothing_stays_of_a_step_that_keeps_nothing() -> None:
    assert Seen(told(mlp())).kept() == []


def test_a_kind_of_tensor_that_is_made_of_others_is_seen_by_them() -> None:
    class Wrapped(torch.Tensor):
        inner: torch.Tensor

        @staticmethod
        def __new__(cls, inner: torch.Tensor) -> Wrapped:
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape)  # type: ignore[attr-defined]

        def __init__(self, inner: torch.Tensor) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return cls(func(*(arg.inner if isinstance(arg, cls) else arg for arg in args), **(kwargs or {})))

    task = mlp()
    made: list[Any] = []

    def step() -> None:
        made.append(torch.add(Wrapped(torch.ones(1000)), 1))

    task.step = step  # type: ignore[method-assign]
    (kept,) = Seen(told(task)).kept()
    assert (kept.line, kept.bytes) == (line_of("return cls(func("), 4000)


def test_other_modes_errors_and_other_processes_are_left_alone() -> None:
    class Theirs(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.calls += 1
            return func(*args, **(kwargs or {}))

    task = mlp()
    task.step()
    look = task.look()
    assert look.begin()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        task.model(torch.ones(1, 7))
    with Theirs() as theirs:
        task.step()
        look.step()
        task.step()
        assert look.step() and look.told  # it is below theirs, and stays there without doing anything
        calls = theirs.calls
        task.step()
        assert theirs.calls > calls
    assert _get_current_dispatch_mode() is look
    look.end()
    if (child := os.fork()) == 0:
        torch.ones(3) + 1
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_step_that_ends_inside_a_block_with_a_mode_is_left_alone() -> None:
    class Theirs(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    look = mlp().look()
    with Theirs():
        assert not look.begin()
    with torch.device("meta"):
        assert not look.begin()
    assert torch.empty(1).device.type == "cpu"


def test_it_ends_where_there_is_too_much_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_log, "STORAGES_AT_MOST", 20)
    task = mlp()
    look = task.look()
    assert look.begin()
    task.step()
    assert look.step() and look.told is None


def test_a_script_with_millions_of_objects_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storages, "OBJECTS_AT_MOST", 1000)
    look = mlp().look()
    with pytest.raises(RuntimeError, match=r"there are .* objects"):
        look.begin()
    assert _get_current_dispatch_mode() is None
    look.end()


def test_no_tensor_lives_longer_for_it() -> None:
    task = mlp()
    task.step()
    look = task.look()
    assert look.begin()
    temporary = torch.randn(10) + 1
    gone = weakref.ref(temporary)
    del temporary
    assert gone() is None
    look.end()
    look.end()


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


@pytest.mark.parametrize("end", ["outside", "inside", "in another", "never"])
def test_blocks_of_inference_mode_leave_no_trace_of_it(end: str) -> None:
    """They put back what was on when they began: a mode that has gone by then would be half on, and the next
    operator an error.
    """
    look, before = MemoryLook(Places(HERE, HERE)), inference_mode.__exit__
    ends = {"outside": (1, False), "inside": (1, True), "in another": (2, True), "never": (9, False)}[end]

    @torch.inference_mode()
    def answer(number: int) -> torch.Tensor:
        result = torch.ones(3) + 1
        if ends == (number, True):
            look.end()
            assert _get_current_dispatch_mode() is look
        return result

    assert look.begin()
    for number in range(4):
        answer(number).numpy()
        if ends == (number, False):
            look.end()
        assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
    look.end()
    assert _get_current_dispatch_mode() is None
    assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
    assert inference_mode.__exit__ is before


def test_steps_that_end_inside_blocks_that_put_back_what_was_on_are_left_alone() -> None:
    look, begun = MemoryLook(Places(HERE, HERE)), []

    def square(x: torch.Tensor) -> torch.Tensor:
        begun.append(look.begin())
        return x * x

    assert torch.vmap(square)(torch.arange(3)).tolist() == [0, 1, 4] and begun == [False]
    with torch.inference_mode():
        assert not look.begin()


@pytest.mark.parametrize("mode", [MemoryLook, _NothingIsComputed])
def test_torch_wraps_no_mode_of_ours_into_what_imports_its_compiler(mode: type) -> None:
    assert not hasattr(mode.__dict__["__torch_dispatch__"], "__wrapped__")

    class Usual(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any: ...

    assert hasattr(Usual.__dict__["__torch_dispatch__"], "__wrapped__")
