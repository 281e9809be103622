"""Of what a layer is given, the rows that nobody reads of its result are not read either."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.run.dataflow.looking import looking, seen, text_of

BATCH, POSITIONS, WIDTH = 2, 10, 8


class Block(nn.Module):
    """Of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries, self.keys, self.values, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.before(x)
        queries = self.queries(normed)
        scores = queries @ self.keys(normed).transpose(-2, -1)
        mixed = scores.softmax(-1) @ self.values(normed)
        added = self.out(mixed) + x
        return self.down(functional.gelu(self.up(self.after(added)))) + added


def unread(step: Callable[[], object]) -> dict[str, int]:
    """Calls by the line's text."""
    return {text_of(line): line["call_count"] for line in seen(step)["unread"]}


def test_of_the_last_block_of_which_one_token_is_read_only_keys_and_values_are_needed() -> None:
    """Of the one before each position is. Of each line the calls: the output's linear layer and its sum, and
    so on; the first norm is read whole, by keys and values.
    """
    first, last, x = Block(), Block(), torch.randn(BATCH, POSITIONS, WIDTH)

    def step() -> None:
        last(first(x))[:, 0].sum().backward()

    assert unread(step) == {
        "queries = self.queries(normed)": 1,
        "scores = queries @ self.keys(normed).transpose(-2, -1)": 1,
        "mixed = scores.softmax(-1) @ self.values(normed)": 1 + 1,
        "added = self.out(mixed) + x": 2,
        "return self.down(functional.gelu(self.up(self.after(added)))) + added": 5,
    }


def test_all_rows_are_needed_where_another_call_reads_them() -> None:
    layer, x = nn.Linear(WIDTH, WIDTH), torch.randn(BATCH, POSITIONS, WIDTH)

    def step() -> None:
        hidden = layer(x)
        (functional.relu(hidden)[:, 0].sum() + hidden.mean()).backward()

    assert set(unread(step)) == {"(functional.relu(hidden)[:, 0].sum() + hidden.mean()).backward()"}


def test_positions_that_a_loss_ignores_are_not_needed_all_the_way_up() -> None:
    """Eight of ten: of both layers and what is between them."""
    first, last, x = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3), torch.randn(BATCH, POSITIONS, WIDTH)
    labels = torch.full((BATCH, POSITIONS), -100)
    labels[:, 4:6] = 1

    def step() -> None:
        hidden = first(x)
        hidden = hidden.relu()
        scores = last(hidden)
        functional.cross_entropy(scores.flatten(0, 1), labels.flatten()).backward()

    assert unread(step) == {
        "hidden = first(x)": 1,
        "hidden = hidden.relu()": 1,
        "scores = last(hidden)": 1,
        "functional.cross_entropy(scores.flatten(0, 1), labels.flatten()).backward()": 1,
    }


def test_a_norm_over_two_dimensions_reads_rows_together() -> None:
    norm, layer, x = (
        nn.LayerNorm([POSITIONS, WIDTH]),
        nn.Linear(WIDTH, WIDTH),
        torch.randn(BATCH, POSITIONS, WIDTH),
    )

    def step() -> None:
        hidden = layer(x)
        normed = norm(hidden)
        normed[:, 0].sum().backward()

    assert unread(step) == {"normed = norm(hidden)": 1}


def test_columns_of_a_turned_square_are_not_rows() -> None:
    """One column of ten is one number of each row."""
    layer, x = nn.Linear(WIDTH, POSITIONS), torch.randn(BATCH, POSITIONS, WIDTH)
    before = nn.Linear(WIDTH, WIDTH)

    def step() -> None:
        hidden = before(x)
        turned = layer(hidden).transpose(1, 2)
        turned[:, 0].sum().backward()

    assert set(unread(step)) == {"turned = layer(hidden).transpose(1, 2)"}


PICTURES, KERNEL = torch.rand(8, 3, 12, 12), torch.rand(3, 3, 3, 3)


@pytest.mark.parametrize(
    "mixed",
    [
        torch.where,
        lambda chosen, changed, given: changed.where(chosen, given),
        lambda chosen, changed, given: given.where(~chosen, changed),
    ],
)
def test_changes_that_a_mask_keeps_for_few_pictures(mixed: Callable[..., Tensor]) -> None:
    """Two of eight: the others were blurred for nothing."""
    chosen = torch.zeros(8, 1, 1, 1, dtype=torch.bool)
    chosen[3:5] = True

    def step() -> None:
        blurred = functional.conv2d(PICTURES, KERNEL, padding=1)
        smaller = functional.avg_pool2d(blurred, 2)
        larger = functional.interpolate(smaller, size=(12, 12)) * 0.5
        mixed(chosen, larger, PICTURES).sum()

    assert unread(step) == {
        "blurred = functional.conv2d(PICTURES, KERNEL, padding=1)": 1,
        "smaller = functional.avg_pool2d(blurred, 2)": 1,
        "larger = functional.interpolate(smaller, size=(12, 12)) * 0.5": 2,
    }


@pytest.mark.parametrize("how", ["most", "none", "each number", "columns", "read too", "together"])
def test_what_a_mask_keeps_most_of_or_what_needs_all_pictures_is_needed(how: str) -> None:
    shape = {"each number": (8, 3, 12, 12), "columns": (1, 1, 1, 12)}.get(how, (8, 1, 1, 1))
    chosen = torch.zeros(shape, dtype=torch.bool)
    chosen.view(-1)[: 0 if how == "none" else 6 if how == "most" else 2] = True
    blur = torch.nn.functional.conv2d

    def step() -> None:
        blurred = blur(PICTURES, KERNEL, padding=1)
        changed = functional.batch_norm(blurred, None, None, training=True) if how == "together" else blurred
        mixed = torch.where(chosen, changed, PICTURES)
        (mixed.sum() + blurred.mean() if how == "read too" else mixed).sum()

    assert "blurred = blur(PICTURES, KERNEL, padding=1)" not in unread(step)


@pytest.mark.parametrize(
    "make", [nn.GRUCell, nn.RNNCell, lambda *sizes: nn.RNNCell(*sizes, nonlinearity="relu")]
)
@pytest.mark.parametrize("how", ["mask", "index"])
def test_states_of_which_one_in_five_is_kept(make: Callable[..., nn.Module], how: str) -> None:
    """Of the speakers of each dialogue the one who speaks."""
    cell, speaker = make(WIDTH, WIDTH), torch.tensor([1, 4, 0])
    speaks = functional.one_hot(speaker, 5).float().unsqueeze(2)
    said, states = torch.randn(3, 5, WIDTH), torch.randn(3, 5, WIDTH)

    def step() -> None:
        updated = cell(said.view(-1, WIDTH), states.view(-1, WIDTH))
        updated = updated.view(3, 5, WIDTH)
        if how == "mask":
            (states * (1 - speaks) + updated * speaks).sum().backward()
        else:
            updated[torch.arange(3), speaker].sum().backward()

    assert unread(step) == {"updated = cell(said.view(-1, WIDTH), states.view(-1, WIDTH))": 1}


def test_weights_of_positions_do_not_pass_a_norm_over_all_of_them() -> None:
    layer, norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm([POSITIONS, WIDTH])
    x, weights = torch.randn(BATCH, POSITIONS, WIDTH), torch.zeros(BATCH, POSITIONS, 1)
    weights[:, :2] = 1.0

    def step() -> None:
        normed = norm(layer(x))
        (normed * weights).sum().backward()

    assert unread(step) == {}


def test_triplets_of_which_a_mask_keeps_few() -> None:
    """Of 128 rows in 32 kinds: of 2,097,152 triplets 128 · 3 · 124 count, 2.3 %."""
    kinds, rows = torch.arange(128) // 4, torch.rand(128, 128, requires_grad=True)
    same = kinds[:, None] == kinds
    valid = (same & ~torch.eye(128, dtype=torch.bool)).unsqueeze(2) & ~same.unsqueeze(1)

    def step() -> None:
        violation = rows.unsqueeze(2) - rows.unsqueeze(1)
        functional.relu(violation * valid).sum().backward()

    flow = looking()
    step()
    assert [flow.step() for _ in range(6)][-1]
    assert flow.facts is not None
    (told,) = flow.facts["unread"]
    assert text_of(told) == "violation = rows.unsqueeze(2) - rows.unsqueeze(1)"
    assert told["ns"] == pytest.approx(10_000 * (1 - 128 * 3 * 124 / 128**3), rel=1e-3)
