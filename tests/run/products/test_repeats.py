"""What is left of products whose rows are there many times, by hand."""

from __future__ import annotations

import pytest
import torch

from diagnose.run.child.products.repeats import RepeatedRows

STATE, KEYS, JOINED, WEIGHT = (
    torch.zeros(5, 6),
    torch.zeros(5, 8, 10),
    torch.zeros(5, 8, 16),
    torch.zeros(4, 16),
)
REPEATED = torch.zeros(5, 8, 6)


def test_of_each_round_only_the_rows_of_the_new_state_are_left() -> None:
    """Of 16 columns 6 are the state's, of whose rows one in 8 differs; 10 are the same in each round."""
    rows, left = RepeatedRows(), []
    for state in (100, 200, 300):
        rows.made("repeat", [STATE], [state], REPEATED, state + 1, 0)
        rows.made("cat", [REPEATED, KEYS], [state + 1, 7], JOINED, state + 2, 2)
        product = rows.product("linear", [JOINED, WEIGHT], [state + 2, 8])
        assert product is not None and product.copies == (state + 2, state + 1)
        assert product.copies_left == pytest.approx(4 / 16)
        left.append(product.left)
    assert left == pytest.approx([6 / 16 / 8 + 10 / 16, 6 / 16 / 8, 6 / 16 / 8])


def test_other_weights_have_met_no_row() -> None:
    rows = RepeatedRows()
    rows.made("cat", [REPEATED, KEYS], [1, 7], JOINED, 2, -1)
    assert rows.product("linear", [JOINED, WEIGHT], [2, 8]) is None  # all of it is new
    assert rows.product("linear", [JOINED, WEIGHT], [2, 9]) is None


def edge_features(neighbours: int) -> tuple[RepeatedRows, torch.Tensor]:
    """Of 2 clouds with 8 points of 3 numbers: each neighbour's less the point's, and the point's, as channels
    (value 10).
    """
    rows = RepeatedRows()
    points = torch.zeros(2, 8, 3)
    of_edges = torch.zeros(2, 8, neighbours, 3)
    rows.made("view", [points], [1], points.view(16, 3), 2, 0)
    rows.made("__getitem__", [points.view(16, 3)], [2], torch.zeros(16 * neighbours, 3), 3, 0)
    rows.made("view", [torch.zeros(16 * neighbours, 3)], [3], of_edges, 4, 0)
    rows.made("view", [points], [1], points.view(2, 8, 1, 3), 5, 0)
    rows.made("repeat", [points.view(2, 8, 1, 3)], [5], of_edges, 6, 0)
    rows.made("__sub__", [of_edges, of_edges], [4, 6], of_edges, 7, 0)
    both = torch.zeros(2, 8, neighbours, 6)
    rows.made("cat", [of_edges, of_edges], [7, 6], both, 8, 3)
    rows.made("permute", [both], [8], both.permute(0, 3, 1, 2), 9, 0)
    channels = both.permute(0, 3, 1, 2).contiguous()
    rows.made("contiguous", [both.permute(0, 3, 1, 2)], [9], channels, 10, 0)
    return rows, channels


def test_a_convolution_of_one_point_over_edges_is_a_product_with_points() -> None:
    """64 edges of 16 points: a difference is of two rows a point, the point's own of one."""
    rows, channels = edge_features(4)
    product = rows.product("conv2d", [channels, torch.zeros(16, 6, 1, 1)], [10, 11])
    assert product is not None and product.copies == ()
    assert product.left == pytest.approx((2 * 16 / 64 + 16 / 64) / 2)


def test_what_is_copied_for_few_results_goes_as_well() -> None:
    rows, channels = edge_features(4)
    product = rows.product("conv2d", [channels, torch.zeros(3, 6, 1, 1)], [10, 11])
    assert product is not None and set(product.copies) == {3, 6, 7, 8}
    assert product.copies_left == pytest.approx(3 / 6)


@pytest.mark.parametrize(
    ("neighbours", "kernel"), [(1, (1, 1)), (4, (3, 3))], ids=["no row twice", "neighbouring points"]
)
def test_what_no_smaller_product_gives(neighbours: int, kernel: tuple[int, int]) -> None:
    rows, channels = edge_features(neighbours)
    assert rows.product("conv2d", [channels, torch.zeros(16, 6, *kernel)], [10, 11]) is None


def test_a_global_feature_for_each_point() -> None:
    """Channels first: 32 numbers of a whole cloud beside 4 of each of its 16 points."""
    rows = RepeatedRows()
    whole, points = torch.zeros(2, 32, 1), torch.zeros(2, 4, 16)
    rows.made("repeat", [whole], [1], torch.zeros(2, 32, 16), 2, 0)
    joined = torch.zeros(2, 36, 16)
    rows.made("cat", [torch.zeros(2, 32, 16), points], [2, 3], joined, 4, 1)
    product = rows.product("conv1d", [joined, torch.zeros(64, 36, 1)], [4, 5])
    assert product is not None and product.left == pytest.approx(32 / 36 / 16 + 4 / 36)


@pytest.mark.parametrize(("scenes", "left"), [(50, (32 * 50 / 256 + 3) / 35), (256, None)])
def test_rows_of_a_small_table_for_many_points(scenes: int, left: float | None) -> None:
    """For each of 256 points the 32 numbers of its scene, beside where it is."""
    rows = RepeatedRows()
    codes = torch.zeros(256, 32)
    rows.made("embedding", [torch.zeros(256, dtype=torch.long), torch.zeros(scenes, 32)], [1, 2], codes, 3, 0)
    joined = torch.zeros(256, 35)
    rows.made("cat", [codes, torch.zeros(256, 3)], [3, 4], joined, 5, 1)
    product = rows.product("linear", [joined, torch.zeros(64, 35)], [5, 6])
    assert (product and product.left) == (left and pytest.approx(left))


def test_a_square_that_is_transposed_has_its_columns_elsewhere() -> None:
    rows = RepeatedRows()
    square = torch.zeros(2, 8, 8)
    rows.made("expand", [torch.zeros(2, 1, 8)], [1], square, 2, 0)
    rows.made("transpose", [square], [2], square.transpose(1, 2), 3, 0)
    assert rows.product("linear", [square.transpose(1, 2), torch.zeros(4, 8)], [3, 5]) is None
