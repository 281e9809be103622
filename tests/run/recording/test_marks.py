"""Marks leave torch as it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from diagnose.run.child.facts.uploads import Uploads
from diagnose.run.child.places import Places
from diagnose.run.child.processor import Processor
from diagnose.run.child.recording.marks import Marks, Observer
from diagnose.run.child.steps.clock import ENGINE


def new_marks(*beside: Uploads) -> Marks:
    calls = SimpleNamespace(step_ended=None)
    places: dict[str, tuple[Any, str]] = {
        "forward": (nn.Module, "__call__"),
        "backward": ENGINE,
        "step_ended": (calls, "step_ended"),
    }
    return Marks(Places("/job", "/job"), Observer(), places.__getitem__, Processor(), beside)


def test_tensors_can_be_made_of_single_numbers_while_operators_are_calls_and_afterwards() -> None:
    marks = new_marks()
    before = dict(vars(torch.Tensor))
    marks.install(operators=True)
    try:
        assert vars(torch.Tensor) != before
        made = torch.tensor([torch.tensor(3), torch.tensor(2)])
        lengths = [torch.tensor(3), torch.tensor(2)]
        packed = nn.utils.rnn.pack_padded_sequence(torch.zeros(2, 3, 4), lengths, batch_first=True)
    finally:
        marks.remove()
    assert dict(vars(torch.Tensor)) == before
    assert made.tolist() == [3, 2]
    assert packed.batch_sizes.tolist() == [2, 2, 1]
    assert torch.tensor([torch.tensor(3), torch.tensor(2)]).tolist() == [3, 2]


TO, ITEM, ADD = torch.Tensor.to, torch.Tensor.item, torch.Tensor.__add__


class Box(torch.Tensor):
    """As torchvision's: only what is in a list of methods keeps the class."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            made = func(*args, **(kwargs or {}))
        return made.as_subclass(cls) if func in (TO, ADD) else made


def test_a_class_of_tensors_is_told_of_the_methods_that_it_knows() -> None:
    marks = new_marks(Uploads(Places("/job", "/job")))
    marks.install(operators=True)
    try:
        box = torch.ones(()).as_subclass(Box)
        kinds = [type(box.to(torch.float64)), type(box + 1), type(box.item())]
    finally:
        marks.remove()
    assert kinds == [Box, Box, float]


def test_a_mode_is_told_of_the_methods_too() -> None:
    told: list[Any] = []

    class Listening(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            told.append(func)
            return func(*args, **(kwargs or {}))

    marks = new_marks(Uploads(Places("/job", "/job")))
    marks.install(operators=True)
    try:
        number = torch.ones(())
        with Listening():
            results = [number.to(torch.float64).item(), (number + 1).item()]
    finally:
        marks.remove()
    assert told == [TO, ITEM, ADD, ITEM] and results == [1.0, 2.0]
