"""Products of three matrices in the other order, and matrices that are scaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from diagnose.run.child.products.product_order import is_turn, orders_of
from diagnose.run.child.values import Call, Values

A, B = torch.rand(60, 40), torch.rand(40, 60)
LAYER = torch.rand(60, 40)  # of 40 numbers to 60
NARROW, FLAT = torch.rand(60, 2), torch.rand(2, 60)
SCALES, WEIGHT = torch.rand(8, 30, 1), torch.rand(30, 20)


def call(function: Callable[..., Any], *given: Any) -> Call:
    return Call(Values(lambda: 0), function, given, {})


@pytest.mark.parametrize(
    ("first", "turned", "second", "at"),
    [
        (call(torch.matmul, A, B), False, lambda made: call(torch.matmul, made, NARROW), 0),
        (call(torch.matmul, A, B), False, lambda made: call(torch.mm, FLAT, made), 1),
        (call(torch.matmul, A, B), True, lambda made: call(torch.matmul, made, NARROW), 0),
        (call(torch.matmul, A, B), True, lambda made: call(torch.matmul, FLAT, made), 1),
        (call(torch.matmul, A, B), False, lambda made: call(functional.linear, FLAT, made), 1),
        (call(torch.matmul, A, B), True, lambda made: call(functional.linear, FLAT, made), 1),
        # a layer of a whole table, before it is multiplied by a few rows
        (call(functional.linear, A, LAYER), True, lambda made: call(torch.matmul, FLAT, made), 1),
        (call(functional.linear, A, LAYER), False, lambda made: call(torch.matmul, made, NARROW), 0),
        (call(functional.linear, A, LAYER), False, lambda made: call(functional.linear, FLAT, made), 1),
        # scaled by row and by column, before and behind
        (
            call(torch.mul, SCALES, WEIGHT),
            False,
            lambda made: call(torch.matmul, made, torch.rand(8, 20, 3)),
            0,
        ),
        (
            call(torch.mul, WEIGHT, SCALES),
            False,
            lambda made: call(torch.matmul, torch.rand(8, 3, 30), made),
            1,
        ),
        (call(torch.mul, SCALES, WEIGHT), True, lambda made: call(torch.bmm, made, torch.rand(8, 30, 3)), 0),
        (call(torch.mul, SCALES, WEIGHT), True, lambda made: call(torch.bmm, torch.rand(8, 3, 20), made), 1),
        (
            call(torch.mul, torch.rand(8, 1, 20), WEIGHT),
            False,
            lambda made: call(torch.bmm, made, torch.rand(8, 20, 3)),
            0,
        ),
        (
            call(torch.mul, torch.rand(8, 1, 20), WEIGHT[None]),
            True,
            lambda made: call(torch.bmm, made, torch.rand(8, 30, 3)),
            0,
        ),
    ],
)
def test_the_other_order_gives_the_same(
    first: Call, turned: bool, second: Callable[[Tensor], Call], at: int
) -> None:
    functions = {"matmul": torch.matmul, "mm": torch.mm, "bmm": torch.bmm, "mul": torch.mul}
    functions["linear"] = functional.linear
    made = functions[first.name](*first.arguments)
    made = made.transpose(-1, -2) if turned else made
    reading = second(made)
    orders = orders_of(first, reading, at, turned=turned)
    assert orders is not None
    expected = functions[reading.name](*reading.arguments)
    for way in (orders.as_is, orders.other):
        torch.testing.assert_close(way(*orders.given), expected)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (call(torch.matmul, A, B), lambda made: call(torch.matmul, made, torch.rand(60, 60))),  # as many
        (call(functional.linear, A, LAYER, torch.rand(60)), lambda made: call(torch.matmul, made, NARROW)),
        (
            call(torch.mul, torch.rand(8, 30, 20), WEIGHT),
            lambda made: call(torch.bmm, made, torch.rand(8, 20, 3)),
        ),
        (call(torch.mul, torch.rand(30, 1), WEIGHT), lambda made: call(torch.mm, made, torch.rand(20, 3))),
        (
            call(torch.mul, SCALES, torch.rand(8, 30, 20)),
            lambda made: call(torch.bmm, made, torch.rand(8, 20, 3)),
        ),
        (call(torch.mul, SCALES, WEIGHT), lambda made: call(torch.relu, made)),
        (call(torch.matmul, A, B), lambda made: call(functional.linear, made, torch.rand(2, 60))),
    ],
)
def test_other_calls_have_no_other_order(first: Call, second: Callable[[Tensor], Call]) -> None:
    functions = {"matmul": torch.matmul, "mul": torch.mul, "linear": functional.linear}
    made = functions[first.name](*first.arguments)
    assert orders_of(first, second(made), 0, turned=False) is None


@pytest.mark.parametrize(
    ("turn", "is_one"),
    [
        (Tensor.t, True),
        (lambda made: made.transpose(0, 1), True),
        (lambda made: made.permute(1, 0), True),
        (Tensor.clone, False),
        (lambda made: made.view(60, 40), False),
    ],
)
def test_transposes_are_known(turn: Callable[[Tensor], Tensor], is_one: bool) -> None:
    calls: list[Call] = []

    class Looking(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(call(func, *args))
            return func(*args, **(kwargs or {}))

    with Looking():
        result = turn(A)
    assert is_turn(calls[0], A, result) is is_one
