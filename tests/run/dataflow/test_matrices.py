"""Products of matrices that are empty, solved with or there many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child import guard
from diagnose.run.child.products.product_trial import shortest_ns
from diagnose.run.child.products.repeated_matrices import without_copies
from tests.run.dataflow.looking import seen, text_of

ROUNDS = 12


def test_a_scheme_that_solves_with_one_matrix_at_each_time() -> None:
    conductance = torch.full((40,), 0.5, requires_grad=True)

    def step() -> None:
        matrix = torch.diag(1 + conductance)
        state = torch.ones(40)
        for _ in range(5):
            state = torch.linalg.solve(matrix, state + 1)
        state.sum().backward()

    (told,) = seen(step)["factored"]
    assert text_of(told) == "state = torch.linalg.solve(matrix, state + 1)" and told["call_count"] == 4
    assert 0 < told["left_ns"] < told["ns"] and told["trained_ns"] == 0


def test_a_matrix_that_changes_is_a_new_one() -> None:
    def step() -> None:
        state = torch.ones(40)
        for time in range(5):
            matrix = torch.eye(40) * (1 + time)
            state = torch.linalg.solve(matrix, state + 1)

    assert seen(step)["factored"] == []


def test_a_dense_product_of_an_adjacency() -> None:
    adjacency, features = torch.eye(2000), torch.randn(2000, 64, requires_grad=True)

    def step() -> None:
        hidden = adjacency @ features
        hidden = hidden @ torch.randn(64, 64)

    (product,) = seen(step)["sparse"]
    assert (text_of(product), product["call_count"]) == ("hidden = adjacency @ features", 1)
    # of four million products two thousand are left
    assert product["left_ns"] < 0.5 * product["ns"]
    assert product["trained_ns"] == product["ns"] and features.grad is None


def test_a_layer_that_reads_bags_of_words() -> None:
    """40 of 5,000 words each: as a lookup of the weights' rows a third of the time is left, and less."""
    words = torch.zeros(100, 5_000)
    words[:, :40] = 1.0
    layer = nn.Linear(5_000, 256)

    (product,) = seen(lambda: layer(words).sum())["sparse"]
    assert 0 < product["left_ns"] < 0.7 * product["ns"]
    assert layer.weight.grad is None


def test_a_nearly_empty_matrix_that_is_trained_stays_dense() -> None:
    learned = torch.eye(1000).requires_grad_()
    assert seen(lambda: (learned @ torch.randn(1000, 64)).sum())["sparse"] == []


def coordinates(features: Tensor) -> list[dict[str, Any]]:
    places, numbers = torch.randint(0, 1000, (2, 70_000)), torch.rand(70_000)
    graph = torch.sparse_coo_tensor(places, numbers, (1000, 1000)).coalesce()

    def step() -> None:
        hidden = features
        for _ in range(2):
            hidden = torch.sparse.mm(graph, hidden)
        hidden = torch.mm(graph.to_dense()[:100, :100], torch.randn(100, 8))

    return seen(step)["coordinates"]


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
def test_products_of_a_matrix_kept_by_coordinates_are_tried_by_rows() -> None:
    """Of 70,000 numbers: by rows the forward took a third of the time on one core."""
    (product,) = coordinates(torch.randn(1000, 64))
    assert (text_of(product), product["call_count"]) == ("hidden = torch.sparse.mm(graph, hidden)", 2)
    assert product["left_ns"] < 0.7 * product["ns"]


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
def test_their_backward_is_tried_too_and_leaves_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """By rows it takes as long: of both ways together 0.75 to 1.1 of the time was left, by the rows' width."""
    tried: list[bool] = []
    features, way = torch.randn(1000, 64, requires_grad=True), "diagnose.run.child.products.sparse_trial"

    def left(*ways: Any, is_trained: bool) -> float:
        shortest_ns(*ways, is_trained=is_trained)
        tried.append(is_trained)
        return 0.5

    monkeypatch.setattr(f"{way}.share_left", left)
    (product,) = coordinates(features)
    assert tried == [True] and features.grad is None
    assert product["left_ns"] == pytest.approx(0.5 * product["ns"], abs=2)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
def test_where_torch_cannot_keep_it_by_rows_nothing_else_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(*_: Any) -> Any:
        raise RuntimeError("built without MKL")

    monkeypatch.setattr(guard, "_failures", {})
    monkeypatch.setattr(torch.Tensor, "to_sparse_csr", no_library)
    graph = torch.eye(50).to_sparse()

    def step() -> None:
        torch.sparse.mm(graph, torch.ones(50, 8))

    assert seen(step)["coordinates"] == []
    assert guard.notes() == []


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
def test_a_matrix_kept_by_rows_is_not_tried() -> None:
    graph = torch.eye(50).to_sparse_csr()

    def step() -> None:
        graph @ torch.randn(50, 8)

    assert seen(step)["coordinates"] == []


@pytest.mark.parametrize(
    "product",
    [
        lambda tokens, heads: tokens @ heads,  # 256 times the matrices of all 16 heads
        lambda tokens, heads: tokens @ torch.stack([heads] * 256),
    ],
    ids=["copied by torch", "copied by the script"],
)
def test_a_batch_of_products_that_copies_matrices_is_tried_with_einsum(
    product: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """On one core `einsum` took 0.02 of the time."""
    given = torch.randn(256, 1, 1, 32), torch.randn(16, 32, 8, requires_grad=True)

    def step() -> None:
        for _ in range(2):
            product(*given)

    (line,) = seen(step)["matrices"]
    assert text_of(line).startswith("lambda") and line["call_count"] == 2
    assert line["left_ns"] < 0.5 * line["ns"]
    assert line["trained_ns"] == line["ns"]
    assert given[1].grad is None


def test_inside_a_transform_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})
    convolution, heads = nn.Conv1d(4, 4, 3, stride=3), torch.randn(4, 8, 8)

    def loss(weights: dict[str, Tensor]) -> Tensor:
        given = torch.func.functional_call(convolution, weights, (torch.randn(2, 4, 24),))
        for _ in range(ROUNDS):
            given = given @ torch.ones(8, 8) @ heads[:1].expand(2, -1, -1)
        return given.sum()

    def step() -> None:
        torch.func.grad(loss)(dict(convolution.named_parameters()))

    step()  # what it imports takes seconds
    flow = seen(step)
    assert flow["patches"] == flow["matrices"] == []
    assert guard.notes() == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (torch.randn(4, 3, 8, 5), torch.randn(4, 3, 5, 6)),  # no matrix is there twice
        (torch.randn(4, 3, 8, 5), torch.randn(5, 6)),  # one product by itself
        (torch.randn(4, 1, 8, 5), torch.randn(4, 1, 5, 6)),
        (torch.randn(4, 8, 5), torch.zeros(4, 5, 6)),  # a first state
        (torch.randn(4, 8, 5), torch.randn(5)),
        (torch.ones(4, 8, 5, dtype=torch.long), torch.ones(1, 5, 6, dtype=torch.long)),
        (torch.randn(4, 0, 5), torch.randn(1, 5, 6)),
    ],
)
def test_other_products_are_not_tried(left: Tensor, right: Tensor) -> None:
    assert without_copies("matmul", [left, right]) is None


def test_einsum_is_given_each_matrix_once() -> None:
    """Of 3 × 4 products the left side has matrices for 3 rows, and the right one for 4 columns."""
    left, right = torch.randn(3, 1, 8, 5), torch.randn(4, 5, 6)
    factors = without_copies("matmul", [left, right.expand(3, -1, -1, -1).clone()])
    assert factors is not None
    shapes = [tuple(factor.tensor.shape) for factor in factors]
    assert (shapes, [factor.letters for factor in factors]) == ([(3, 8, 5), (4, 5, 6)], ["axy", "byz"])
    swapped = without_copies("__rmatmul__", [right, left])
    assert swapped is not None
    assert [factor.letters for factor in swapped] == ["axy", "byz"]
