"""Marks leave torch as it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from diagnose.run.child.places import Places
from diagnose.run.child.processor import Processor
from diagnose.run.child.recording.marks import Marks, Observer
from diagnose.run.child.steps.clock import ENGINE


def test_tensors_can_be_made_of_single_numbers_while_operators_are_calls_and_afterwards() -> None:
    calls = SimpleNamespace(step_ended=None)
    places: dict[str, tuple[Any, str]] = {
        "forward": (nn.Module, "__call__"),
        "backward": ENGINE,
        "step_ended": (calls, "step_ended"),
    }
    marks = Marks(Places("/job", "/job"), Observer(), places.__getitem__, Processor())
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
