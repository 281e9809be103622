"""What the sequences that a model is given tell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from diagnose.run.child.facts.sequences import Sequences
from diagnose.run.child.places import Place, Places

HERE = str(Path(__file__).parent)
PLACES = Places(HERE, HERE)
LINE, OTHER = Place("/job/train.py", 20, "main"), Place("/job/train.py", 30, "main")


def longer(*shapes: tuple[int, ...]) -> list[dict[str, Any]]:
    sequences = Sequences(PLACES)
    for shape in shapes:
        sequences.call(1, [torch.zeros(shape)], LINE)
    return [
        {name: one[name] for name in ("line", "count", "share", "length")}
        for one in sequences.facts()["longer"]
    ]


def padded(*batches: torch.Tensor) -> list[tuple[float, float, float]]:
    sequences = Sequences(PLACES)
    for batch in batches:
        sequences.call(1, [batch], LINE)
    return [(one["length"], one["longest"], one["filled"]) for one in sequences.facts()["padded"]]


def rows_of(*lengths: int, width: int, fill: int = 0) -> torch.Tensor:
    batch = torch.full((len(lengths), width), fill)
    for row, length in enumerate(lengths):
        batch[row, :length] = torch.arange(7, 7 + length)
    return batch


def frames_of(*lengths: int) -> torch.Tensor:
    """As sound is: 3 numbers of each frame, frames last."""
    batch = torch.zeros(len(lengths), 3, max(lengths))
    for row, length in enumerate(lengths):
        batch[row, :, :length] = 1
    return batch


def test_three_of_five_calls_give_a_sequence_longer_by_one() -> None:
    """Lengths 4, 5, 6, then a new one of 3, and 4: three of five are longer, 5 on average."""
    assert longer((1, 4), (1, 5), (1, 6), (1, 3), (1, 4)) == [
        {"line": 20, "count": 3, "share": 0.6, "length": 5.0}
    ]


def test_a_mask_grows_with_its_ids_and_the_length_may_come_first() -> None:
    sequences = Sequences(PLACES)
    for length in (4, 5, 6):
        sequences.call(1, [torch.zeros(length, 2), torch.zeros(length, length)], LINE)
    assert [one["count"] for one in sequences.facts()["longer"]] == [2]


@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 1), (1, 1), (1, 1)),  # a token at a time
        ((1, 4), (1, 6), (1, 8)),
        ((4, 4), (5, 3), (6, 4)),
        ((8, 4), (8, 4, 1), (8, 5)),
    ],
)
def test_nothing_else_counts(shapes: tuple[tuple[int, ...], ...]) -> None:
    assert longer(*shapes) == []


def test_what_is_trained_on_between_is_another_sequence() -> None:
    sequences = Sequences(PLACES)
    for length in (4, 5, 6):
        sequences.call(1, [torch.zeros(8, length)], LINE)
        sequences.begin()
    assert sequences.facts()["longer"] == []


def test_padding_that_all_rows_share_counts() -> None:
    """Longest 10 and 20 of 40, on average 15; filled are (5 + 10 + 4 + 8) / 160 and (20 + 10 + 5 + 1) / 160."""
    first, second = rows_of(5, 10, 4, 8, width=40), rows_of(20, 10, 5, 1, width=40)
    assert padded(first, second) == [(40.0, 15.0, pytest.approx((27 + 36) / 320))]


@pytest.mark.parametrize("kind", ["at the end", "at the beginning", "lengths first", "rows of numbers"])
def test_rows_that_are_far_shorter_than_the_longest(kind: str) -> None:
    """The first row is the longest; filled are 40 + 10 + 4 + 8 + 6 of 200. A batch without padding is full."""
    batch = rows_of(40, 10, 4, 8, 6, width=40)
    full = torch.arange(100, 300).view(5, 40)
    if kind == "at the beginning":
        batch, full = batch.flip(1), full.flip(1)
    if kind == "lengths first":
        batch, full = batch.t(), full.t()
    if kind == "rows of numbers":
        batch, full = (one.unsqueeze(2).float().expand(-1, -1, 6) for one in (batch, full))
    assert padded(batch, batch.clone()) == [(40.0, 40.0, pytest.approx(68 / 200))]
    ((_, longest, filled),) = padded(full, full.clone())
    assert longest == 40 and filled > 0.99


@pytest.mark.parametrize("kind", ["at the beginning", "lengths first", "rows of numbers", "another id"])
def test_wherever_the_padding_is(kind: str) -> None:
    batch = rows_of(5, 10, 4, 8, width=40, fill=3 if kind == "another id" else 0)
    if kind == "at the beginning":
        batch = batch.flip(1)
    if kind == "lengths first":
        batch = batch.t()
    if kind == "rows of numbers":
        batch = batch.unsqueeze(2).float().expand(-1, -1, 6)
    assert [(length, longest) for length, longest, _ in padded(batch, batch.clone())] == [(40.0, 10.0)]


def test_frames_come_last_where_batches_differ_in_nothing_else() -> None:
    """Of batches of 20 and of 24 frames three quarters are filled; of two as long it is not known."""
    assert padded(frames_of(20, 10, 10, 20), frames_of(24, 12, 12, 24)) == [(22, 22, 0.75)]
    assert padded(frames_of(20, 10, 10, 20), frames_of(20, 12, 8, 20)) == []


def test_rows_may_be_padded_with_a_mark_of_their_end() -> None:
    """As pen strokes are: (0, 0, 1) from the end on. Of 20 points 16 are the longest, 12 are drawn."""
    batch = torch.rand(4, 20, 3)
    for row, length in enumerate((8, 16, 12, 12)):
        batch[row, length:] = torch.tensor([0.0, 0.0, 1.0])
    first = batch.transpose(0, 1)  # as recurrent layers have it by default
    assert padded(batch, batch) == [(20.0, 16.0, pytest.approx(0.6))]
    assert padded(first, first) == [(20.0, 16.0, pytest.approx(0.6))]


@pytest.mark.parametrize("how", ["drawn to the end", "as many in each", "in one row"])
def test_numbers_that_rows_end_with_may_be_their_own(how: str) -> None:
    batch = torch.rand(4, 20, 3)
    if how == "as many in each":
        batch[:, 15:] = 1.0
    if how == "in one row":
        batch[0, 8:] = 1.0
    assert padded(batch, batch) == [(20.0, 20.0, 1.0)]


def test_what_may_have_its_positions_last_comes_second() -> None:
    """A picture's features beside the ids of its caption: one row of 64 numbers each."""
    sequences = Sequences(PLACES)
    for _ in range(2):
        sequences.call(1, [torch.rand(4, 1, 64), rows_of(20, 10, 10, 20, width=20)], LINE)
    assert [(line["length"], line["filled"]) for line in sequences.facts()["padded"]] == [(20, 0.75)]


def test_sequences_too_short_to_tell_are_left_out_for_longer_ones() -> None:
    sequences = Sequences(PLACES)
    for lengths in ((20, 10, 10, 20), (24, 12, 12, 24)):
        sequences.call(1, [rows_of(5, 3, 2, 1, width=5), frames_of(*lengths)], LINE)
    assert [line["filled"] for line in sequences.facts()["padded"]] == [0.75]


def test_no_padding_is_none() -> None:
    """Full rows; padded to the longest of the batch; the same columns in all rows; too short; once only."""
    full, to_longest = rows_of(40, 40, 40, 40, width=40), rows_of(40, 10, 5, 7, width=40)
    constant = rows_of(30, 30, 30, 30, width=40)
    assert [found[:2] for found in padded(full, full)] == [(40.0, 40.0)]
    assert [found[:2] for found in padded(to_longest, to_longest)] == [(40.0, 40.0)]
    assert [found[:2] for found in padded(constant, constant)] == [(40.0, 40.0)]
    short = rows_of(5, 10, 4, 8, width=15)
    assert padded(short, short) == []
    assert padded(rows_of(5, 10, 4, 8, width=40)) == []


def test_pictures_and_tables_are_no_sequences() -> None:
    assert padded(torch.zeros(8, 40), torch.zeros(8, 40)) == []
    assert padded(torch.zeros(8, 3, 40, 40), torch.zeros(8, 3, 40, 40)) == []


def test_a_few_batches_are_kept() -> None:
    sequences = Sequences(PLACES)
    for _ in range(20):
        sequences.call(1, [rows_of(5, 10, 4, 8, width=40)], LINE)
    sequences.call(1, [torch.zeros(4, 300_000, dtype=torch.int64)], OTHER)
    assert [one["batches"] for one in sequences.facts()["padded"]] == [8]


class Tagger(torch.nn.Module):
    def __init__(self, sequences: Sequences) -> None:
        super().__init__()
        self.sequences = sequences

    def loss(self, batch: torch.Tensor) -> None:
        self.sequences.call(1, [batch], LINE, sys._getframe())


def test_who_calls_the_outermost_model_is_told_as_well() -> None:
    sequences = Sequences(PLACES)
    for batch in (rows_of(3, 9, 20, 5, width=20), rows_of(4, 12, 20, 7, width=20)):
        Tagger(sequences).loss(batch)
    (padded,) = sequences.facts()["padded"]
    assert (padded["line"], padded["caller"]["function"]) == (
        LINE.line,
        "test_who_calls_the_outermost_model_is_told_as_well",
    )


def test_a_batch_that_is_kept_keeps_nothing_that_it_was_computed_from() -> None:
    sequences = Sequences(PLACES)
    sequences.call(1, [torch.ones(4, 16, 8, requires_grad=True) * 2], LINE)
    ((kept,),) = sequences._batches.values()
    assert kept.grad_fn is None
