"""Which products read a matrix that is almost all zeros."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from diagnose.run.child.products.zeros import is_depthwise, nearly_empty

DENSE = torch.randn(100, 8)


def filled(ones: int, *shape: int) -> Tensor:
    matrix = torch.zeros(shape)
    matrix.view(-1)[:ones] = 1.0
    return matrix


def test_a_nearly_empty_matrix_of_a_product() -> None:
    empty, other = filled(50, 100, 100), torch.randn(8, 100)
    assert nearly_empty("matmul", [empty, DENSE]) == (empty, DENSE, True)
    assert nearly_empty("mm", [other, empty]) == (empty, other, False)
    assert nearly_empty("__rmatmul__", [DENSE, empty]) == (empty, DENSE, True)
    assert nearly_empty("addmm", [torch.zeros(8), empty, DENSE]) == (empty, DENSE, True)
    assert nearly_empty("einsum", [empty, other]) is None  # over another dimension


def test_a_vector_is_a_column_or_a_row() -> None:
    empty, vector = filled(50, 100, 100), torch.randn(100)
    for name, given, shape, comes_first in (
        ("__matmul__", [empty, vector], (100, 1), True),
        ("matmul", [vector, empty], (1, 100), False),
    ):
        found = nearly_empty(name, given)
        assert found is not None
        assert (found[0] is empty, found[1].shape, found[2]) == (True, shape, comes_first)


def test_one_hot_rows_of_a_batch() -> None:
    one_hot, weight = functional.one_hot(torch.arange(50).view(5, 10), 200).float(), torch.randn(16, 200)
    found = nearly_empty("linear", [one_hot, nn.Parameter(weight)])
    assert found is not None
    rows, table, comes_first = found
    assert (rows.shape, table.shape, comes_first) == ((50, 200), (200, 16), True)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("mul", [filled(50, 100, 100), filled(50, 100, 100)]),
        ("matmul", [filled(500, 100, 100), DENSE]),  # 5 %
        ("matmul", [filled(0, 100, 100), DENSE]),  # a first state
        ("matmul", [filled(5, 20, 20), torch.randn(20, 8)]),  # small
        ("matmul", [nn.Parameter(filled(50, 100, 100)), DENSE]),
        ("matmul", [nn.Parameter(filled(50, 100, 100)).t(), DENSE]),
        ("matmul", [filled(50, 100, 100).to_sparse(), DENSE]),
        ("matmul", [filled(50, 2, 100, 100), torch.randn(2, 100, 8)]),  # attention, batches of graphs
        ("matmul", [filled(50, 100, 100)]),
    ],
)
def test_other_calls_and_other_matrices(name: str, given: list[Tensor]) -> None:
    assert nearly_empty(name, given) is None


def test_a_dense_kernel_of_single_channels() -> None:
    x, average = torch.randn(2, 4, 20), torch.zeros(4, 4, 5)
    average[range(4), range(4)] = 0.2
    assert is_depthwise("conv1d", [x, average])
    assert is_depthwise("conv1d", [x, average.roll(1, 0)])  # each reads another channel than its own
    assert not is_depthwise("conv1d", [x, average[:, :1]])  # one of each, by groups
    assert not is_depthwise("conv1d", [x, torch.nn.Parameter(average)])  # trained, and zero at first
    assert is_depthwise("conv1d", [x, torch.nn.Parameter(average, requires_grad=False)])
    mixed = average.clone()
    mixed[0, 1, 2] = 0.1
    assert not is_depthwise("conv1d", [x, mixed])
    grey = torch.zeros(3, 3, 5)
    grey[:, 0] = 1.0  # all read the same
    assert not is_depthwise("conv1d", [x, grey])
    assert not is_depthwise("linear", [x, average]) and not is_depthwise("conv1d", [x])
