"""Two calls one after the other that cost less in another way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from diagnose.run.child.products.pair_ways import inverse_ways, pooled_product_ways, pooling_ways
from diagnose.run.child.products.summed_rows import Sums, summed_ways
from tests.run.dataflow.looking import call_of, seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def left_of(step: Callable[[], Any], way: str = "order") -> dict[str, float]:
    """By the line's text."""
    told = seen(step)[way]
    assert all(line["file"] == str(HERE) for line in told)
    return {LINES[line["line"] - 1].strip(): line["left_ns"] / line["ns"] for line in told}


def test_a_large_product_for_a_narrow_one() -> None:
    """128³ multiplications for each of 16, where 2 · 128² do."""
    a, b, c = torch.rand(16, 128, 128), torch.rand(16, 128, 128), torch.rand(16, 128, 1)
    a.requires_grad_()

    def step() -> None:
        product = torch.bmm(a, b)
        torch.bmm(product, c).sum().backward()

    left = left_of(step)
    assert set(left) == {"product = torch.bmm(a, b)", "torch.bmm(product, c).sum().backward()"}
    assert all(share < 0.5 for share in left.values())


def test_the_product_may_come_second_or_be_a_weight() -> None:
    a, b, rows = torch.rand(512, 4), torch.rand(4, 512), torch.rand(8, 512)

    def step() -> None:
        weight = a @ b
        functional.linear(rows, weight)
        other = torch.mm(a, b)
        rows @ other

    left = left_of(step)
    assert set(left) == {
        "weight = a @ b",
        "functional.linear(rows, weight)",
        "other = torch.mm(a, b)",
        "rows @ other",
    }
    assert all(share < 0.7 for share in left.values())


@pytest.mark.parametrize(
    "use",
    [
        lambda product, wide: product @ wide,  # all orders cost the same
        lambda product, wide: (product @ wide[:, :1]).sum() + product.sum(),  # it is needed by itself
        lambda product, wide: product.relu() @ wide[:, :1],  # something lies between
    ],
)
def test_other_products_are_left_alone(use: Callable[[Tensor, Tensor], Tensor]) -> None:
    a, b, wide = (torch.rand(128, 128) for _ in range(3))
    assert left_of(lambda: use(a @ b, wide)) == {}


def test_a_layer_of_a_whole_table_before_a_few_rows_are_multiplied() -> None:
    """4000 x 32 x 128 multiplications for the table and 8 x 128 x 4000; the other way 8 x 128 x 32 and
    8 x 32 x 4000.
    """
    items, layer, rows = nn.Embedding(4000, 32), nn.Linear(32, 128, bias=False), torch.rand(8, 128)

    def step() -> None:
        table = layer(items.weight)
        scores = rows @ table.permute(1, 0)
        scores.sum().backward()

    left = left_of(step)
    assert set(left) == {"table = layer(items.weight)", "scores = rows @ table.permute(1, 0)"}
    assert all(share < 0.6 for share in left.values())


def test_a_weight_that_is_scaled_for_each_sample() -> None:
    """256 matrices of 64 x 64 are made and multiplied, where one product of all would do."""
    slopes, weight, along = (
        torch.rand(256, 64),
        torch.rand(64, 64, requires_grad=True),
        torch.rand(256, 64, 4),
    )

    def step() -> None:
        scaled = slopes.view(-1, 64, 1) * weight
        torch.matmul(scaled, along).sum().backward()

    left = left_of(step)
    assert set(left) == {
        "scaled = slopes.view(-1, 64, 1) * weight",
        "torch.matmul(scaled, along).sum().backward()",
    }
    assert all(share < 0.8 for share in left.values())


def test_pairs_of_a_line_are_tried_by_their_shapes() -> None:
    """A first layer of two numbers gains nothing, and does not stand for the second."""
    weights = torch.rand(64, 2, requires_grad=True), torch.rand(64, 64, requires_grad=True)
    slopes = torch.rand(256, 64, 1)

    def step() -> None:
        along = torch.rand(256, 2, 4)
        for weight in weights:
            scaled = slopes * weight
            along = scaled @ along
        along.sum().backward()

    told = {LINES[line["line"] - 1].strip(): line for line in seen(step)["order"]}
    product = told["along = scaled @ along"]
    assert product["call_count"] == 2 and product["left_ns"] < 0.8 * product["ns"]


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_a_classifier_of_pixels_that_were_made_up(mode: str) -> None:
    """64 channels of 96 x 96 are made and made to 4; 4 of them would have to be made of 24 x 24."""
    layer, classifier, image = nn.Conv2d(3, 64, 1), nn.Conv2d(64, 4, 1), torch.rand(2, 3, 24, 24)

    def step() -> None:
        maps = layer(image)
        maps = functional.interpolate(maps, scale_factor=4, mode=mode)
        classifier(maps).sum().backward()

    left = left_of(step, "enlarged")
    assert left.keys() == {
        "maps = functional.interpolate(maps, scale_factor=4, mode=mode)",
        "classifier(maps).sum().backward()",
    }
    assert all(share < 0.4 for share in left.values())


@pytest.mark.parametrize(
    ("channels", "kernel", "options"),
    [
        (96, 1, {"scale_factor": 2}),  # it makes more channels
        (4, 3, {"scale_factor": 2}),  # it sees neighbours
        (4, 1, {"scale_factor": 0.5}),  # smaller
        (4, 1, {"scale_factor": 2, "mode": "bicubic"}),
    ],
)
def test_other_convolutions_come_after(channels: int, kernel: int, options: dict[str, Any]) -> None:
    classifier, maps = nn.Conv2d(64, channels, kernel), torch.rand(2, 64, 24, 24)
    assert left_of(lambda: classifier(functional.interpolate(maps, **options)), "enlarged") == {}


@pytest.mark.parametrize(
    "options",
    [
        {"scale_factor": 3},
        {"size": (20, 31), "mode": "bilinear", "align_corners": True},
        {"size": 40, "mode": "area"},
    ],
)
def test_the_other_order_gives_the_same(options: dict[str, Any]) -> None:
    classifier, maps = nn.Conv2d(8, 3, 1), torch.rand(2, 8, 10, 12)
    after = classifier(functional.interpolate(maps, **options))
    torch.testing.assert_close(functional.interpolate(classifier(maps), **options), after)


@pytest.mark.parametrize(
    "use",
    [lambda inverse, column: inverse @ column, lambda inverse, column: column.transpose(-1, -2) @ inverse],
)
@pytest.mark.parametrize("invert", [torch.inverse, torch.linalg.inv])
def test_an_inverse_that_multiplies_one_column(
    invert: Callable[[Tensor], Tensor], use: Callable[[Tensor, Tensor], Tensor]
) -> None:
    """2 n³ multiplications and 4 n³ in the backward; a solution takes 2/3 n³ and 2 n² more, both ways."""
    matrix = (torch.rand(200, 200) + 20 * torch.eye(200)).requires_grad_()
    column = torch.rand(200, 1)

    def step() -> None:
        inverse = invert(matrix)
        use(inverse, column).sum().backward()

    left = left_of(step, "inverted")
    assert "inverse = invert(matrix)" in left and len(left) == 2
    assert all(share < 0.6 for share in left.values())


@pytest.mark.parametrize(
    "use",
    [
        lambda inverse, column: inverse @ column + inverse[:, :1],  # it is needed by itself
        lambda inverse, column: inverse.relu() @ column,
        lambda inverse, column: inverse * column,
    ],
)
def test_other_inverses_are_left_alone(use: Callable[[Tensor, Tensor], Tensor]) -> None:
    matrix, column = torch.rand(200, 200) + 20 * torch.eye(200), torch.rand(200, 1)
    assert left_of(lambda: use(torch.inverse(matrix), column), "inverted") == {}


def test_each_way_of_a_line_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter((0.1, 0.2))
    monkeypatch.setattr(
        "diagnose.run.child.products.call_pairs.share_left", lambda *ways, is_trained: next(shares)
    )
    matrix, column = torch.rand(128, 128) + 20 * torch.eye(128), torch.rand(128, 1)

    def step() -> None:
        torch.inverse(matrix) @ column, (matrix @ matrix) @ column

    told = seen(step)
    assert [told[way][0]["left_ns"] / told[way][0]["ns"] for way in ("inverted", "order")] == pytest.approx(
        [0.1, 0.2], abs=0.001
    )


@pytest.mark.parametrize("shape", [(6, 6), (3, 6, 6)])
def test_a_solution_gives_what_the_inverse_does(shape: tuple[int, ...]) -> None:
    matrix, columns = torch.rand(shape) + 6 * torch.eye(6), torch.rand(*shape[:-1], 2)
    for as_is, solved, other in (
        (*inverse_ways(at=0), columns),
        (*inverse_ways(at=1), columns.transpose(-1, -2)),
    ):
        torch.testing.assert_close(solved(matrix, other), as_is(matrix, other))


@pytest.mark.parametrize("pool", [lambda rows: rows.mean(1), lambda rows: torch.sum(rows, dim=(0, 1))])
def test_a_layer_whose_rows_are_added_up(pool: Callable[[Tensor], Tensor]) -> None:
    """8 or all 1024 rows become one before 256 x 256 multiplications for each."""
    layer, sets = nn.Linear(256, 256), torch.rand(128, 8, 256, requires_grad=True)

    def step() -> None:
        embedded = layer(sets)
        pool(embedded).sum().backward()

    left = left_of(step, "pooled")
    assert "embedded = layer(sets)" in left and len(left) == 2
    assert all(share < 0.6 for share in left.values())


@pytest.mark.parametrize(
    ("product", "pool"),
    [
        (lambda rows, weights: rows.bmm(weights), lambda product: product.sum(1)),
        (lambda rows, weights: rows @ weights[0], lambda product: product.mean((0, 1))),
        (lambda rows, weights: weights.mT @ rows.mT, lambda product: torch.sum(product, dim=-1)),
    ],
    ids=["rows", "rows of all", "columns"],
)
def test_a_product_whose_rows_or_columns_are_added_up(
    product: Callable[[Tensor, Tensor], Tensor], pool: Callable[[Tensor], Tensor]
) -> None:
    """128 rows, or 8192, become one before 64 x 128 multiplications for each."""
    rows, weights = torch.rand(64, 128, 64, requires_grad=True), torch.rand(64, 64, 128)

    def step() -> None:
        scores = product(rows, weights)
        pool(scores).sum().backward()

    ((line, left),) = left_of(step, "pooled").items()
    assert line.startswith("(lambda rows, weights: ") and left < 0.7


@pytest.mark.parametrize(
    "pool",
    [
        lambda product: product.sum((1, 2)),  # of both sides
        lambda product: product.sum(0),  # of pairs of matrices
        lambda product: product.softmax(1).sum(1),
        lambda product: product.sum(1) + product[:, 0],
    ],
)
def test_other_products_are_needed_whole(pool: Callable[[Tensor], Tensor]) -> None:
    rows, weights = torch.rand(64, 32, 64), torch.rand(64, 64, 128)
    assert left_of(lambda: pool(rows @ weights), "pooled") == {}


@pytest.mark.parametrize("is_sum", [False, True])
def test_a_product_of_sums_is_the_sum_of_products(is_sum: bool) -> None:
    left, right = torch.rand(3, 4, 5, dtype=torch.float64), torch.rand(1, 5, 6, dtype=torch.float64)
    for which, dimensions in ((0, [1]), (0, [0, 1]), (1, [2])):
        as_is, first_pooled = pooled_product_ways(which, is_sum, dimensions)
        torch.testing.assert_close(first_pooled(left, right), as_is(left, right))


@pytest.mark.parametrize(
    "pool", [nn.AdaptiveAvgPool2d(1), lambda maps: maps.mean((2, 3)), lambda maps: maps.mean(dim=[-2, -1])]
)
def test_a_convolution_of_points_before_its_average(pool: Callable[[Tensor], Tensor]) -> None:
    head, maps = nn.Conv2d(64, 128, 1), torch.rand(8, 64, 16, 16)

    def step() -> None:
        classes = head(maps)
        pool(classes)

    left = left_of(step, "pooled")
    assert "classes = head(maps)" in left and len(left) == 2
    assert all(share < 0.4 for share in left.values())


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: rows.mean(-1),  # of the layer's numbers
        lambda rows: rows.mean(),
        lambda rows: rows.relu().mean(1),
        lambda rows: rows.mean(1) + rows[:, 0],  # they are needed by themselves
        lambda rows: functional.adaptive_avg_pool1d(rows, 2),
    ],
)
def test_other_layers_come_first(use: Callable[[Tensor], Tensor]) -> None:
    layer, sets = nn.Linear(64, 64), torch.rand(32, 8, 64)
    assert left_of(lambda: use(layer(sets)), "pooled") == {}


EDGES, NODES = 4096, 64
TO = torch.randint(NODES, (EDGES,), generator=torch.Generator().manual_seed(0))
SUMS = [
    lambda messages: torch.zeros(NODES, 128).index_add(0, TO, messages),
    lambda messages: torch.zeros(NODES, 128).index_add_(0, TO, messages),
    lambda messages: torch.zeros(NODES, 128).scatter_add(0, TO[:, None].expand_as(messages), messages),
    lambda messages: torch.zeros(NODES, 128).scatter_add_(0, TO[:, None].expand_as(messages), messages),
]


@pytest.mark.parametrize("add_up", SUMS)
@pytest.mark.parametrize("norm", [None, torch.rand(EDGES, 1)], ids=["plain", "norm"])
def test_a_layer_of_messages_that_are_added_up(
    add_up: Callable[[Tensor], Tensor], norm: Tensor | None
) -> None:
    """64 sums of 4096 rows: one of 64 multiplications is left, and the additions are of as many numbers."""
    weight, rows = torch.rand(128, 128, requires_grad=True), torch.rand(EDGES, 128)

    def step() -> None:
        messages = torch.mm(rows, weight)
        scaled = messages if norm is None else messages * norm
        add_up(scaled).sum().backward()

    left = left_of(step, "pooled")
    assert "messages = torch.mm(rows, weight)" in left and len(left) == (2 if norm is None else 3)
    assert all(share < 0.8 for share in left.values())


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: SUMS[0](rows.relu()),
        lambda rows: SUMS[0](rows * torch.rand(128)),
        lambda rows: SUMS[0](rows) + rows.sum(),
        lambda rows: SUMS[0](rows * torch.rand(EDGES, 1)) + rows[:NODES],  # read unscaled, too
        lambda rows: torch.zeros(EDGES, 128).index_add(0, TO, rows),  # most sums are of no row or one
        lambda rows: torch.zeros(EDGES, 2).index_add(1, TO[:128] % 2, rows),
        lambda rows: torch.zeros(NODES, 128).index_add(0, TO, rows, alpha=2),
    ],
)
def test_other_messages_need_their_layer_first(use: Callable[[Tensor], Tensor]) -> None:
    weight, rows = torch.rand(128, 128), torch.rand(EDGES, 128)
    assert left_of(lambda: use(rows @ weight), "pooled") == {}


def test_messages_summed_first_give_the_same() -> None:
    rows, weight, norm = torch.rand(40, 5), torch.rand(5, 4), torch.rand(40, 1)
    sums = Sums(torch.arange(40) % 6, 6)
    calls = [(lambda: torch.mm(rows, weight)), (lambda: functional.linear(rows, weight.T))]
    for call in calls:
        layer = call_of(call, lambda call: call.name in ("mm", "linear"))
        for scale in (None, norm):
            ways = summed_ways(layer, sums, scale)
            assert ways is not None
            as_is, first_summed, given = ways
            torch.testing.assert_close(first_summed(*given), as_is(*given))


@pytest.mark.parametrize("is_sum", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_pooling_first_gives_the_same(is_sum: bool, bias: bool) -> None:
    layer, rows = nn.Linear(5, 4, bias=bias), torch.rand(3, 6, 5)
    for dimensions in ([1], [0, 1]):
        as_is, first_pooled = pooling_ways(functional.linear, is_sum, dimensions, 2)
        weights = tuple(layer.parameters())
        torch.testing.assert_close(first_pooled(rows, *weights), as_is(rows, *weights))


def test_an_einsum_in_costly_order_is_one_call() -> None:
    x, projection = torch.rand(4, 128, 50), torch.rand(128, 3)
    left = left_of(lambda: torch.einsum("bcp,bdp,dr->bcr", x, x, projection), "order")
    assert [line.split("(")[2] for line in left] == ['"bcp,bdp,dr->bcr", x, x, projection), "order")']


def test_the_nearest_of_sorted_rows() -> None:
    """3 of 4096, of both results of `sort`; and of `argsort`, in each of three rounds."""
    pairs = torch.rand(64, 4096)

    def step() -> None:
        distances, index = pairs.sort(dim=1)
        near, nearest = distances[:, :3], index[:, :3]
        for _ in range(3):
            order = pairs.argsort(dim=1)
            near + order[:, 1:4] + nearest

    left = left_of(step, "sorted")
    assert set(left) == {
        "distances, index = pairs.sort(dim=1)",
        "near, nearest = distances[:, :3], index[:, :3]",
        "order = pairs.argsort(dim=1)",
        "near + order[:, 1:4] + nearest",
    }
    assert all(share < 0.6 for share in left.values())
    counts = {line["line"]: line["call_count"] for line in seen(step)["sorted"]}
    assert sorted(counts.values()) == [1, 1, 3, 3]


@pytest.mark.parametrize(
    "use",
    [
        lambda distances, index: distances[:, :3].sum() + distances.sum(),
        lambda distances, index: distances.sum() + distances[:, :3].sum(),
        lambda distances, index: distances[:, :3].sum() + index.sum(),
        lambda distances, index: index.sum() + distances[:, :3].sum(),
        lambda distances, index: distances[:, :3].sum() + index[:, -3:].sum(),
        lambda distances, index: (distances[:, :3].sum(), index.tolist()),
        lambda distances, index: (index.tolist(), distances[:, :3].sum()),
        lambda distances, index: distances[:, :3000].sum(),
    ],
)
def test_what_else_is_read_of_sorted_rows_needs_all(use: Callable[[Tensor, Tensor], Any]) -> None:
    pairs = torch.rand(64, 4096)
    assert left_of(lambda: use(*pairs.sort(dim=1)), "sorted") == {}
