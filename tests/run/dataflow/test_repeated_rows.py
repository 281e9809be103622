"""Products of rows that are there many times, and rows that are looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.run.dataflow.looking import seen, text_of


def repeated(step: Callable[[], Any]) -> dict[str, tuple[int, float]]:
    """By the line's text: products of rows that are there many times, and what is left of their time."""
    return {text_of(one): (one["call_count"], one["left_ns"] / one["ns"]) for one in seen(step)["repeated"]}


def test_of_a_decoders_attention_only_what_is_new_is_left() -> None:
    """Rows of 6 and 10 numbers: the state, of which each of 8 rows has the same, and the encoder's, the same in
    each of four rounds. By hand: 6/16 · 1/8 of each, and of the first 10/16 besides: 0.203.
    """
    attention, cell = nn.Linear(16, 4), nn.GRUCell(4, 6)
    encoded = torch.randn(5, 8, 10)

    def step() -> None:
        keys, state = encoded * 2, torch.zeros(5, 6)
        for _ in range(4):
            rows = state.unsqueeze(1).repeat(1, 8, 1)
            energy = attention(torch.cat((rows, keys), dim=2))
            state = cell(energy.sum(1), state)

    found = repeated(step)
    # of what is copied a quarter is left: 4 numbers of the result are added for 16 copied
    assert found.pop("rows = state.unsqueeze(1).repeat(1, 8, 1)") == (4, pytest.approx(0.25, abs=0.01))
    ((text, (count, left)),) = found.items()
    assert (text, count) == ("energy = attention(torch.cat((rows, keys), dim=2))", 8)
    assert left == pytest.approx((4 * 0.203125 + 4 * 0.25) / 8, abs=1e-3)


def test_of_edges_between_nodes_the_nodes_are_left() -> None:
    """90 edges between 10 nodes: of 6 + 6 numbers of nodes a ninth, of 4 of edges all: (12/9 + 4) / 16. The
    result has as many numbers as are copied, so there is nothing to gain from fewer copies.
    """
    layer = nn.Linear(16, 16)
    nodes, edges = torch.randn(10, 6), torch.randn(90, 4)
    sender, receiver = torch.randint(0, 10, (90,)), torch.randint(0, 10, (90,))

    def step() -> None:
        pairs = torch.cat([nodes[sender], nodes[receiver], edges], dim=-1)
        layer(pairs)

    assert repeated(step) == {"layer(pairs)": (1, pytest.approx(1 / 3, abs=1e-3))}


def test_other_rows_are_multiplied_once_each() -> None:
    layer, other, first, second = nn.Linear(16, 4), nn.Linear(16, 4), torch.randn(40, 8), torch.randn(40, 8)
    chosen = torch.randperm(40)[:20]

    def step() -> None:
        layer(torch.cat([first, second], dim=1))
        layer(torch.cat([second, first], dim=1))  # by other columns
        layer(torch.cat([first[chosen], second[chosen]], dim=1))  # fewer rows than there are
        other(torch.cat([first[:, :4], first.repeat(1, 1)[:, 4:], second], dim=1))
        layer(torch.randn(20, 2, 8).view(20, 16))

    assert repeated(step) == {}


def test_the_same_product_again_is_another_rules() -> None:
    layer, rows = nn.Linear(8, 4), torch.randn(40, 8)

    def step() -> None:
        layer(rows)
        layer(rows)

    assert repeated(step) == {}


def test_different_rows_that_a_step_looks_up() -> None:
    """Of a table of 2,000 rows: 3 in one call, 2 more in another, though each has 4 indices. Small tables are
    not counted, nor what is not looked up by whole numbers.
    """
    table, small, tied = nn.Embedding(2_000, 2), nn.Embedding(10, 2), nn.Embedding(1_000, 2)
    bag = nn.EmbeddingBag(3_000, 4)
    indices = torch.tensor([1, 1, 5, 9])

    def step() -> None:
        table(indices), table(torch.tensor([[7, 7], [8, 5]])), small(indices)
        bag(indices, torch.tensor([0, 2]))
        functional.linear(tied(indices), tied.weight[:500])

    told = seen(step)["lookups"]
    assert [(one["table"], one["rows"], one["is_tied"]) for one in told] == [
        ([2_000, 2], 5, False),
        ([3_000, 4], 3, False),
        ([1_000, 2], 3, True),
    ]
    assert all(one["sparse_ns"].keys() == {"SparseAdam", "SGD"} for one in told)


def test_without_a_backward_no_sparse_gradient_is_tried() -> None:
    table = nn.Embedding(2_000, 2)

    def step() -> None:
        with torch.no_grad():
            table(torch.arange(10))

    (told,) = seen(step)["lookups"]
    assert told["sparse_ns"] == {}


@pytest.mark.parametrize("in_place", [False, True])
def test_rows_moved_by_number_are_tried_as_rows(in_place: bool) -> None:
    """With the call that repeats the index, which nobody else needs."""
    rows, index = torch.randn(20_000, 64, requires_grad=True), torch.randint(2000, (20_000,))

    def step() -> None:
        numbers = index[:, None].repeat(1, 64)
        if in_place:
            torch.zeros(2000, 64).scatter_add_(0, numbers, rows).sum().backward()
        else:
            torch.zeros(2000, 64).scatter_add(0, numbers, rows).sum().backward()
        rows.gather(0, torch.randint(2000, (20_000, 64)))

    line = (
        "torch.zeros(2000, 64).scatter_add"
        + ("_" if in_place else "")
        + "(0, numbers, rows).sum().backward()"
    )
    told = {text_of(found): found for found in seen(step)["by_number"]}
    assert set(told) == {line, "numbers = index[:, None].repeat(1, 64)"}
    assert told[line]["call_count"] == 1 and told[line]["left_ns"] < 0.85 * told[line]["ns"]
    assert told[line]["trained_ns"] == told[line]["ns"]
    assert told["numbers = index[:, None].repeat(1, 64)"]["left_ns"] == 0


@pytest.mark.parametrize("left", [None, 1.2])
def test_an_index_is_needed_where_whole_rows_are_no_faster(
    left: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.run.child.products.products.left_as_rows", lambda *_, is_trained: left)
    rows, index = torch.randn(2_000, 64), torch.randint(200, (2_000,))

    def step() -> None:
        numbers = index[:, None].repeat(1, 64)
        torch.zeros(200, 64).scatter_add(0, numbers, rows)

    assert "numbers = index[:, None].repeat(1, 64)" not in map(text_of, seen(step)["by_number"])
