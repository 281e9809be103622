"""What is left of a network that is given equal rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.run.dataflow.looking import seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
COUNT = 4096


def kinds(count: int = 64) -> Tensor:
    """Of each of 4,096 rows its kind, 64 of them, as numbers that are the same for each row of one."""
    number = torch.arange(COUNT) % count
    return torch.stack([number.float(), number.float().sin(), number.float().sqrt()], dim=1)


def left_of(step: Callable[[], Any]) -> dict[str, float]:
    """By the line's text."""
    told = seen(step)["equal_rows"]
    assert all(line["file"] == str(HERE) for line in told)
    return {LINES[line["line"] - 1].strip(): line["left_ns"] / line["ns"] for line in told}


@pytest.mark.usefixtures("real_times")
def test_each_layer_of_a_network_computes_the_distinct_rows_alone() -> None:
    """64 of 4,096 rows. The last layer's are looked up, which is added to it."""
    first, second, given = nn.Linear(3, 128), nn.Linear(128, 64), kinds()

    def step() -> None:
        hidden = first(given)
        active = functional.gelu(hidden)
        rows = second(active)
        rows.view(COUNT, 8, 8).sum(dim=(0, 1)).sum().backward()

    left = left_of(step)
    assert left["hidden = first(given)"] == pytest.approx(64 / COUNT, rel=0.01)
    assert left["active = functional.gelu(hidden)"] == pytest.approx(64 / COUNT, rel=0.01)
    assert 64 / COUNT < left["rows = second(active)"] < 1
    assert len(left) == 3


@pytest.mark.parametrize(
    "rows",
    [
        lambda: torch.arange(3.0 * COUNT).view(COUNT, 3),  # each another
        lambda: kinds(2000),  # two or three of each kind
        lambda: kinds()[:900],  # few
        lambda: torch.cat([torch.zeros(4000, 3), torch.arange(288.0).view(96, 3)]),  # padding
    ],
)
def test_other_rows_are_not_told(rows: Callable[[], Tensor]) -> None:
    given, layer = rows(), nn.Linear(3, 32)
    assert left_of(lambda: layer(given)) == {}


def test_what_is_drawn_or_related_to_other_rows_is_another_row() -> None:
    given, first, layer = kinds(), nn.Linear(3, 32), nn.Linear(32, 32)
    other = torch.arange(32.0 * COUNT).view(COUNT, 32)

    def step() -> None:
        rows = first(given)
        dropped = functional.dropout(rows)
        layer(dropped)
        layer(rows + other)
        layer(rows.cumsum(0))

    assert set(left_of(step)) == {"rows = first(given)"}


def test_a_norm_over_several_rows_is_none_of_each_for_itself() -> None:
    given, layer = kinds().view(2, COUNT // 2, 3), nn.Linear(3, 32)

    def step() -> None:
        rows = layer(given)
        rows = functional.layer_norm(rows, (32,))
        rows = functional.layer_norm(rows, (COUNT // 2, 32))

    assert set(left_of(step)) == {"rows = layer(given)", "rows = functional.layer_norm(rows, (32,))"}


def test_rows_that_were_repeated_by_the_script_are_told_as_such() -> None:
    layer, table, index = nn.Linear(16, 64), torch.randn(32, 16), torch.arange(COUNT) % 32
    told = seen(lambda: layer(table[index]))
    assert told["repeated"] and not told["equal_rows"]
