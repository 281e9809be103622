"""What is kept of a model's results."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diagnose.run.child.identical import digest
from diagnose.run.child.outputs import Outputs


@dataclass
class Scored:
    scores: torch.Tensor
    label: str = ""


class Held:
    def __init__(self, scores: torch.Tensor) -> None:
        self.scores = scores
        self.itself = self


def seen(*results: Any) -> list[tuple[str, list[float]]]:
    owner = SimpleNamespace(forward=lambda result: result)
    outputs = Outputs(lambda kind: (owner, kind))
    outputs.begin("forward")
    for result in results:
        owner.forward(result)
    outputs.stop()
    return outputs.seen


@pytest.mark.parametrize("holding", [Scored, Held, lambda scores: {"of": [Scored(scores)]}])
def test_what_lies_in_a_dataclass_or_an_object_is_seen(holding: Any) -> None:
    one, other = seen(holding(torch.tensor([1.0, 2.0])), holding(torch.tensor([1.0, 3.0])))
    assert (one[1], other[1]) == ([1.0, 2.0], [1.0, 3.0])
    assert one[0] != other[0]
    assert digest(holding(torch.ones(2))) == digest(holding(torch.ones(2)))


def test_results_in_which_nothing_is_found_are_not_kept() -> None:
    assert seen(None, object(), [], {"of": object()}) == []
    assert [values for _, values in seen("a word", 3)] == [[], []]
