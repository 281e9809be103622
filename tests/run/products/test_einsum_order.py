"""Orders of an `einsum` of several factors."""

from __future__ import annotations

import pytest
import torch

from diagnose.run.child.products.einsum_order import in_costly_order, left_in_order, multiplied
from diagnose.run.child.values import Call, Values


def einsum(equation: str, *shapes: tuple[int, ...]) -> Call:
    return Call(Values(lambda: 0), torch.einsum, (equation, *map(torch.rand, shapes)), {})


@pytest.mark.parametrize(
    ("equation", "shapes", "path"),
    [
        # from the left 2·40·40·50 + 2·40·40·3 multiplications, the last two first 2·40·50·3 + 2·40·50·3
        ("bcp,bdp,dr->bcr", [(2, 40, 50), (2, 40, 50), (40, 3)], [(1, 2), (0, 1)]),
        # a column at the end of three matrices: from the right
        ("ij,jk,kl,lm->im", [(30, 30), (30, 30), (30, 30), (30, 1)], [(2, 3), (1, 2), (0, 1)]),
        # an outer product first, of which nothing is left
        ("i,j,i->j", [(500,), (500,), (500,)], [(0, 2), (0, 1)]),
    ],
)
def test_the_order_with_the_fewest_multiplications_gives_the_same(
    equation: str, shapes: list[tuple[int, ...]], path: list[tuple[int, int]]
) -> None:
    call = einsum(equation, *shapes)
    found = in_costly_order(call)
    assert found is not None and found.path == path
    torch.testing.assert_close(multiplied(call.given, found), torch.einsum(*call.arguments))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk,kl->il", [(30, 30), (30, 30), (30, 30)]),  # all orders cost the same
        ("ij,jk,kl->il", [(1, 30), (30, 30), (30, 30)]),  # from the left is best
        ("ij,jk->ik", [(30, 30), (30, 3)]),
        ("ii,ij,jk->k", [(30, 30), (30, 30), (30, 1)]),  # a diagonal
        ("...ij,jk,kl->...il", [(2, 30, 30), (30, 30), (30, 1)]),
        ("ij,jk,kl", [(30, 30), (30, 30), (30, 1)]),  # the result is not named
    ],
)
def test_others_are_left_alone(equation: str, shapes: list[tuple[int, ...]]) -> None:
    assert in_costly_order(einsum(equation, *shapes)) is None


def test_both_orders_are_tried() -> None:
    """The other order has a twentieth of the multiplications."""
    call = einsum("bcp,bdp,dr->bcr", (8, 256, 100), (8, 256, 100), (256, 6))
    found = in_costly_order(call)
    assert found is not None
    left = left_in_order(found, 1, is_trained=False)
    assert left is not None and 0 < left < 0.7
    assert left_in_order(found, 10**9, is_trained=False) is None
