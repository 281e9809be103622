"""Exponentials that underflow."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from diagnose.run.child.products.underflow import left_with_bound, underflowing
from diagnose.run.child.values import Call, Values
from tests.run.dataflow.looking import seen

ROWS = torch.linspace(0, 1, 8192).view(64, 128)
# 13 of 128 numbers of each row: a tenth
MASKED = ROWS.masked_fill(torch.arange(128) < 13, -1e4)


def call_of(function: Any, *given: Any, **options: Any) -> Call:
    return Call(Values(lambda: 0), function, given, options)


@pytest.mark.parametrize(
    ("function", "given", "options"),
    [
        (torch.exp, (MASKED,), {}),
        (torch.exp, (MASKED.double(),), {}),
        (torch.exp, (MASKED.masked_fill(MASKED < 0, -math.inf),), {}),
        (torch.Tensor.exp, (ROWS - 88,), {}),  # 0.66 of 1 above -88: below -87.34 the results are denormal
        (torch.logsumexp, (MASKED, 1), {}),
        (torch.logsumexp, (MASKED,), {"dim": (0, 1), "keepdim": True}),
        (torch.logsumexp, (MASKED - 1e3, -1), {}),  # what counts is how far below the largest
        (torch.logsumexp, (MASKED.masked_fill(ROWS > 0.5, -math.inf), -1), {}),  # and rows of nothing else
    ],
)
def test_a_lower_bound_gives_the_same(function: Any, given: Any, options: Any) -> None:
    call = call_of(function, *given, **options)
    found = underflowing(call)
    assert found is not None
    torch.testing.assert_close(found.as_is(found.exponents), function(*given, **options))
    same = {"atol": 1e-30, "rtol": 1e-4}
    bounded = found.bounded(found.exponents)
    assert bounded.isfinite().all()  # of a row of nothing but -inf, too
    torch.testing.assert_close(bounded, function(*given, **options).clamp_min(-1e30), **same)
    of_each = []
    for way in (found.as_is, found.bounded):
        exponents = found.exponents.clone().requires_grad_()
        way(exponents).sum().backward()
        assert exponents.grad is not None
        of_each.append(exponents.grad.nan_to_num())  # of a row of nothing but -inf
    torch.testing.assert_close(*of_each, **same)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (torch.exp, (ROWS - 87,)),  # the least are normal numbers
        (torch.exp, (MASKED.bfloat16(),)),
        (torch.exp, (MASKED.double().clamp_min(-700),)),
        (torch.exp, (MASKED[:30],)),  # 3840 numbers
        (torch.exp, (ROWS.masked_fill(torch.arange(128) < 6, -1e4),)),  # 4.7 % of them
        (torch.logsumexp, (ROWS - 1e5, -1)),  # none lies far below the largest
        (torch.sigmoid, (MASKED,)),
    ],
)
def test_others_are_left_alone(function: Any, given: Any) -> None:
    assert underflowing(call_of(function, *given)) is None


def test_both_ways_are_tried() -> None:
    found = underflowing(call_of(torch.exp, MASKED.clone().requires_grad_()))
    assert found is not None
    left = left_with_bound(found, 1, is_trained=True)
    assert left is not None and left > 0
    assert left_with_bound(found, 10**9, is_trained=True) is None


def test_it_is_tried_where_a_script_calls_it() -> None:
    def kernels() -> torch.Tensor:
        return torch.exp(MASKED * 2)

    (told,) = seen(kernels)["underflow"]
    assert told["call_count"] == 1 and told["left_ns"] > 0
