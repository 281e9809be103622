"""Rounds that are given arrays of numpy's depend on what Python has read before only where these may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.run.dataflow.looking import seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
COUNT, WIDTH = 6, 8
FORWARD = "values = network(tensor)"


def rounds(step: Callable[[], Any]) -> dict[str, int]:
    """By the line's text, of calls that could be one."""
    return {LINES[line["line"] - 1].strip(): line["rounds"] for line in seen(step)["at_once"]}


def choice(network: nn.Module, tensor: Tensor) -> int:
    with torch.no_grad():
        values = network(tensor)
    return int(values.argmax().item())


def arrays() -> list[np.ndarray]:
    return list(np.random.default_rng(0).random((COUNT, WIDTH)).astype(np.float32))


@pytest.mark.parametrize("as_tensor", [torch.from_numpy, torch.as_tensor, torch.tensor])
def test_an_array_that_was_there_depends_on_no_choice_before(as_tensor: Callable[[Any], Tensor]) -> None:
    network = nn.Linear(WIDTH, 3)

    def step() -> None:
        observations = arrays()
        for number in range(COUNT):
            observations[number] = np.full(
                WIDTH, choice(network, as_tensor(observations[number])), np.float32
            )

    assert rounds(step)[FORWARD] == COUNT


def test_rows_of_an_array_and_what_an_object_holds() -> None:
    network = nn.Linear(WIDTH, 3)

    class Environments:
        def __init__(self) -> None:
            self.state = np.stack(arrays())

        def steps(self) -> list[int]:
            return [choice(network, torch.from_numpy(row)) for row in self.state]

    assert rounds(Environments().steps)[FORWARD] == COUNT


def test_arrays_of_other_things_are_passed_over() -> None:
    network = nn.Linear(WIDTH, 3)

    def step() -> None:
        dates = np.array(["2026-11-30"], "datetime64[D]")
        things = np.array([object()], object)
        observations = arrays()
        for observation in observations:
            choice(network, torch.from_numpy(observation))
        assert len(dates) == len(things)

    assert rounds(step)[FORWARD] == COUNT


def test_an_array_made_since_may_depend_on_the_choice() -> None:
    network = nn.Linear(WIDTH, 3)

    def step() -> None:
        observation = arrays()[0]
        for _ in range(COUNT):
            observation = observation + choice(network, torch.from_numpy(observation))

    assert FORWARD not in rounds(step)


def test_so_may_one_that_was_written_to_since() -> None:
    network = nn.Linear(WIDTH, 3)

    def step() -> None:
        observations = arrays()
        for number in range(COUNT - 1):
            observations[number + 1] += 1 + choice(network, torch.from_numpy(observations[number]))

    assert FORWARD not in rounds(step)
