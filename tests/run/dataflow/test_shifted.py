"""Buffers that are copied whole to take in a few rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
LENGTH, NEW = 400, 40


class Queue:
    def __init__(self, push: Callable[[Tensor, Tensor], Tensor], *, trained: bool = False) -> None:
        self.rows, self.push = torch.rand(LENGTH, 50, requires_grad=trained), push

    def step(self) -> None:
        self.rows = self.push(self.rows, torch.rand(NEW, 50))


def told_of(step: Callable[[], Any]) -> list[dict[str, Any]]:
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    for _ in range(6):
        step()
        flow.step()
    assert flow.facts is not None
    return list(flow.facts["shifted"])


def shifted(step: Callable[[], Any]) -> dict[str, float]:
    """By the line's text, the share of its time that is left."""
    return {LINES[line["line"] - 1].strip(): line["left_ns"] / line["ns"] for line in told_of(step)}


def push_first(rows: Tensor, new: Tensor) -> Tensor:
    return torch.cat([new, rows[:-NEW]])


def push_then_cut(rows: Tensor, new: Tensor) -> Tensor:
    return torch.cat((rows, new), dim=0)[NEW:]


def roll_then_write(rows: Tensor, new: Tensor) -> Tensor:
    rolled = torch.roll(rows, -NEW, dims=0)
    rolled[-NEW:] = new
    return rolled


@pytest.mark.parametrize(
    ("push", "line", "left"),
    [
        (push_first, "return torch.cat([new, rows[:-NEW]])", 40 / 400),
        (push_then_cut, "return torch.cat((rows, new), dim=0)[NEW:]", 40 / 440),
        (roll_then_write, "rolled = torch.roll(rows, -NEW, dims=0)", 0.0),
    ],
)
def test_a_buffer_that_is_copied_whole(
    push: Callable[[Tensor, Tensor], Tensor], line: str, left: float
) -> None:
    told = shifted(Queue(push).step)
    assert told.keys() == {line} and told[line] == pytest.approx(left, abs=0.01)


@pytest.mark.parametrize(
    "push",
    [
        lambda rows, new: torch.cat([rows, new]),  # it grows
        lambda rows, new: torch.cat([new, rows[:NEW]]),  # most of it is new in the end
        lambda rows, new: torch.cat([new, torch.rand(LENGTH - NEW, 50)]),
        lambda rows, new: rows.copy_(torch.roll(torch.rand(LENGTH, 50), 1)),
    ],
)
def test_other_tensors_are_put_together(push: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert shifted(Queue(push).step) == {}


def test_what_gradients_go_through_is_left_alone() -> None:
    assert shifted(Queue(push_first, trained=True).step) == {}


def push_and_scale(rows: Tensor, new: Tensor) -> Tensor:
    kept = rows[:-NEW]
    return torch.cat([new, kept]).mul_(0.5)


def test_what_the_line_does_beside_is_counted_in_its_time() -> None:
    (line,) = told_of(Queue(push_and_scale).step)
    assert line["call_count"] == 1 and line["line_ns"] > line["ns"]
