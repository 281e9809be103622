"""Batch norms of rows that a permutation makes look like signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.products import permuted_norm
from diagnose.run.child.products.permuted_norm import as_rows
from tests.run.dataflow.looking import seen, text_of


def told_of(norm: nn.Module, given: Tensor) -> list[dict[str, Any]]:
    def step() -> None:
        norm(given).sum().backward()

    step()
    return seen(step)["permuted_norm"]


def test_a_norm_of_permuted_rows_is_tried_on_the_rows_and_keeps_its_statistics() -> None:
    """On one core a fifth to a half was left."""
    norm, rows = nn.BatchNorm1d(64), torch.rand(128, 64, 64, requires_grad=True)
    (told,) = told_of(norm, rows.permute(0, 2, 1))
    assert text_of(told) == "norm(given).sum().backward()"
    assert told["left_ns"] < 0.8 * told["ns"]
    assert int(norm.num_batches_tracked) == 2  # of the script's own calls


@pytest.mark.parametrize(
    "given",
    [
        torch.rand(8, 16, 32),  # signals as they are
        torch.rand(8, 16),
        torch.rand(32, 8, 16).permute(1, 2, 0),  # no rows with their channels side by side
        torch.rand(8, 32, 1).permute(0, 2, 1),  # one channel
        torch.rand(8, 4, 6, 16).permute(0, 3, 1, 2),  # images have this layout
    ],
)
def test_other_layouts_are_as_good(given: Tensor) -> None:
    kinds: dict[int, Callable[[int], nn.Module]] = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}
    assert told_of(kinds[given.dim()](given.shape[1]), given.requires_grad_()) == []


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_both_ways_give_the_same(monkeypatch: pytest.MonkeyPatch, training: bool, affine: bool) -> None:
    norm = nn.BatchNorm1d(16, affine=affine, eps=0.1).train(training)
    norm.running_mean += torch.rand(16)  # type: ignore[operator]
    rows, results = torch.rand(8, 32, 16, requires_grad=True), []

    def share_left(*ways: Any, is_trained: bool) -> float:
        assert is_trained
        results.extend(way(*given) for way, given in ways)
        return 0.5

    monkeypatch.setattr(permuted_norm, "share_left", share_left)
    before = norm.running_mean.clone()  # type: ignore[operator]
    (told,) = told_of(norm, rows.permute(0, 2, 1))
    assert told["left_ns"] == told["ns"] / 2
    as_is, other = results
    torch.testing.assert_close(other, as_is)
    assert training or torch.equal(before, norm.running_mean)  # type: ignore[arg-type]


def test_rows_are_the_memory_as_it_is() -> None:
    rows = torch.rand(8, 32, 16)
    assert as_rows(rows.permute(0, 2, 1)).data_ptr() == rows.data_ptr()
