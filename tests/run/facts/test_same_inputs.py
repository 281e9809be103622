"""What a model's call is given, compared with the calls before."""

from __future__ import annotations

import torch

from diagnose.run.child.facts.same_inputs import SameInputs
from diagnose.run.child.places import Place

TRAIN, TEST = Place("/job/train.py", 20, "main"), Place("/job/train.py", 30, "main")


def calls(same: SameInputs, *given: tuple[torch.Tensor, Place, bool]) -> None:
    for tensor, place, with_grad in given:
        with torch.set_grad_enabled(with_grad):
            same.call(1, [tensor], place)


def lines(same: SameInputs) -> dict[int, float]:
    return {one["line"]: one["share"] for one in same.facts()["again"]}


def test_a_second_call_with_the_same_batch_counts_at_its_line() -> None:
    same, batches = SameInputs(), [torch.ones(4, 2) for _ in range(3)]
    for batch in batches:
        calls(same, (batch, TRAIN, True), (batch, TEST, False))
    assert lines(same) == {30: 1.0}
    assert same.facts()["changing_shapes"] == [[4, 2]]
    assert same.facts()["unchanged_shapes"] == []


def test_the_call_that_trains_is_never_the_one_to_leave_out() -> None:
    same, batches = SameInputs(), [torch.ones(4, 2) for _ in range(3)]
    for batch in batches:
        calls(same, (batch, TEST, False), (batch, TRAIN, True))
    assert list(lines(same)) == [30]


def test_where_one_batch_is_all_there_is_both_lines_count() -> None:
    same, graph = SameInputs(), torch.ones(5, 5)
    for _ in range(3):
        calls(same, (graph, TRAIN, True), (graph, TEST, False))
    assert lines(same) == {20: 1.0, 30: 1.0}
    assert same.facts()["unchanged_shapes"] == [[5, 5]]


def test_what_was_written_to_is_not_the_same() -> None:
    same, batch = SameInputs(), torch.ones(4, 2)
    calls(same, (batch, TRAIN, True))
    batch.add_(1)
    calls(same, (batch, TEST, False))
    assert lines(same) == {}


def test_a_new_view_of_the_same_numbers_is_the_same_and_another_part_is_not() -> None:
    same, data = SameInputs(), torch.ones(8, 2)
    calls(same, (data[:4], TRAIN, True), (data[:4], TEST, False), (data[4:], TEST, False))
    assert lines(same) == {30: 0.5}


def test_an_evaluation_on_samples_of_its_own_repeats_no_forward_that_trains() -> None:
    """Each time the weights are others."""
    same, unseen = SameInputs(), torch.ones(4, 2)
    for _ in range(3):
        calls(same, (torch.ones(4, 2), TRAIN, True))
        same.weights_changed()
        calls(same, (unseen, TEST, False))
    assert lines(same) == {}


def test_two_evaluations_of_the_same_weights_are_one_too_many() -> None:
    same, unseen = SameInputs(), torch.ones(4, 2)
    for _ in range(3):
        same.weights_changed()
        calls(same, (unseen, TEST, False), (unseen, TEST, False))
    assert lines(same) == {30: 3 / 5}  # of the first call of all nothing is told


def test_calls_before_a_pause_are_not_compared_with() -> None:
    same, batch = SameInputs(), torch.ones(4, 2)
    calls(same, (batch, TRAIN, True))
    same.begin()
    calls(same, (batch, TEST, False))
    assert lines(same) == {}
