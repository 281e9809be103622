"""Sorted rows of which few are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from diagnose.run.child.products.sorted_few import Few, all_sorted, few_sorted, few_taken, sorting_of
from tests.run.dataflow.looking import call_of

ROWS = torch.randperm(4 * 6 * 10).view(4, 6, 10).float()


@pytest.mark.parametrize(
    ("step", "few"),
    [
        (lambda: ROWS.sort(dim=-1)[0][:, :, :3], Few(3, from_end=False)),
        (lambda: ROWS.sort(dim=-1)[1][..., 0], Few(1, from_end=False)),
        (lambda: ROWS.argsort(descending=True)[:, :, 1:4], Few(4, from_end=False)),
        (lambda: torch.argsort(ROWS, 1)[:, :2], Few(2, from_end=False)),
        (lambda: torch.sort(ROWS, 0, True).values[-1], Few(1, from_end=True)),
        (lambda: ROWS.sort()[0][..., -3:], Few(3, from_end=True)),
        (lambda: ROWS.sort()[0].narrow(2, 6, 2), Few(4, from_end=True)),
        (lambda: ROWS.sort()[0].select(2, 4), Few(5, from_end=False)),
        (lambda: ROWS.sort()[0][2, :, :5], Few(5, from_end=False)),  # of one row in four: of each as many
    ],
)
def test_few_are_found_without_sorting_the_others(step: Callable[[], Tensor], few: Few) -> None:
    sorting = call_of(step, lambda call: call.name in {"sort", "argsort"})
    taking = call_of(step, lambda call: call.name in {"__getitem__", "narrow", "select"})
    found = sorting_of(sorting)
    assert found is not None and few_taken(found, ROWS, taking) == few
    for which in (0, 1):
        whole = all_sorted(ROWS, found, which)
        size = whole.shape[found.dim]
        expected = whole.narrow(found.dim, size - few.taken if few.from_end else 0, few.taken)
        torch.testing.assert_close(few_sorted(ROWS, found, which, few), expected)


@pytest.mark.parametrize(
    "step",
    [
        lambda: ROWS.sort()[0][..., 2:7],  # the middle
        lambda: ROWS.sort()[0][..., :6],  # more than half
        lambda: ROWS.sort()[0][1],  # whole rows
        lambda: ROWS.sort()[0][..., :0],
        lambda: ROWS.sort()[0][..., torch.tensor([0, 1])],
        lambda: ROWS.sort()[0][..., [0, 1]],
        lambda: ROWS.sort()[0].mul(2),
    ],
)
def test_others_need_all(step: Callable[[], Tensor]) -> None:
    calls: list[Any] = [call_of(step, lambda call: call.name == "sort")]
    calls.append(call_of(step, lambda call: call.name in {"__getitem__", "mul"}))
    found = sorting_of(calls[0])
    assert found is not None and few_taken(found, ROWS, calls[1]) is None


@pytest.mark.parametrize("step", [lambda: ROWS.sort(stable=True), lambda: ROWS.topk(3), lambda: ROWS.max(1)])
def test_other_calls_do_not_sort(step: Callable[[], Any]) -> None:
    assert sorting_of(call_of(step, lambda call: True)) is None
