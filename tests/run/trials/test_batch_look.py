"""What models take for more samples, on copies of theirs."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.trials import batch_look, copies
from diagnose.run.child.trials.batch_look import BatchLook
from tests.run.trials.looking import looking_at


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(6, 4), nn.BatchNorm1d(4)
        self.given: list[int] = []  # shared by its copies

    def __deepcopy__(self, memo: dict[int, object]) -> Net:
        made = Net()
        made.load_state_dict(self.state_dict())
        made.given = self.given
        return made

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        self.given.append(len(x))
        return self.norm(self.layer(x)) * scale


def test_copies_are_given_four_times_as_many_samples_in_turns() -> None:
    model = Net()
    look = looking_at(BatchLook, model)
    assert look.begin()
    model(torch.randn(2, 6), torch.ones(())).sum().backward()
    assert look.step()
    look.end()
    assert look.facts is not None
    (told,) = look.facts
    assert told["times"] == 4 and len(told["as_is_ms"]) == len(told["changed_ms"]) >= 5
    assert set(model.given) == {2, 8}
    assert int(model.norm.num_batches_tracked) == 1  # the script's own was called once


@pytest.mark.parametrize(
    ("given", "with_graph"),
    [(torch.randn(3, 6), True), (torch.randn(2, 6), False)],
    ids=["three samples", "nothing is trained"],
)
def test_what_is_not_tried(given: Tensor, with_graph: bool) -> None:
    model = Net()
    look = looking_at(BatchLook, model)
    assert look.begin()
    with torch.set_grad_enabled(with_graph):
        model(given, torch.ones(()))
    assert look.step()
    look.end()
    assert look.facts == []


@pytest.mark.parametrize("shapes", [[(3, 6)], [(1, 6), (1, 7)]], ids=["three samples", "of two lengths"])
def test_no_step_is_looked_at_for_nothing(shapes: list[tuple[int, ...]]) -> None:
    model = Net()
    look = looking_at(BatchLook, model)
    look._calls._shapes.update((id(model), shape, 2) for shape in shapes)
    assert not look.begin()


def test_tensors_of_different_lengths_are_no_samples() -> None:
    model = Net()
    look = looking_at(BatchLook, model)
    assert not look.counts(model, (torch.zeros(2, 6), torch.zeros(1, 4)), {})
    assert not look.counts(model, (torch.zeros(2), torch.zeros(2)), {})
    assert look.counts(model, (torch.zeros(2, 6), torch.zeros(2, 4)), {})


def test_of_calls_of_another_size_those_count_that_follow_one_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A B B A A B B …: the first of each two is slow."""
    ns = itertools.cycle((4_000_000, 9_000_000))
    monkeypatch.setattr(copies, "_call_ns", lambda module, call: next(ns) if call() else next(ns) // 2)
    model = nn.Linear(1, 1)
    told = copies.in_turns((model, lambda: True), (model, lambda: False), with_graph=False, settled=True)
    assert set(told["as_is_ms"]) == {4.0} and set(told["changed_ms"]) == {2.0}


@pytest.mark.parametrize(
    ("call_s", "pairs", "calls"),
    [
        # after six pairs, the first of which does not count, more than two seconds have gone
        (0.5, 5, 12),
        # six pairs would take 24 seconds, as the second one tells: the first is slow
        (2.0, 0, 4),
        # 25 pairs take less than two seconds
        (0.02, 24, 50),
    ],
)
def test_long_calls_are_tried_in_few_pairs_and_longer_ones_not_at_all(
    call_s: float, pairs: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_ns = 0

    def call_ns(module: nn.Module, call: object) -> int:
        nonlocal clock_ns
        clock_ns += int(call_s * 1e9)
        return int(call_s * 1e9)

    monkeypatch.setattr(copies, "_call_ns", call_ns)
    monkeypatch.setattr(copies, "perf_counter_ns", lambda: clock_ns)
    model = nn.Linear(1, 1)
    told = copies.in_turns((model, lambda: None), (model, lambda: None), with_graph=False)
    assert len(told["as_is_ms"]) == len(told["changed_ms"]) == pairs
    assert clock_ns == pytest.approx(calls * call_s * 1e9)


def test_a_slow_first_pair_does_not_end_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where torch loads what it needs: five pairs like that would take ten seconds."""
    clock_ns = 0

    def call_ns(module: nn.Module, call: object) -> int:
        nonlocal clock_ns
        took_ns = 20_000_000 if clock_ns else 2_000_000_000
        clock_ns += took_ns
        return took_ns

    monkeypatch.setattr(copies, "_call_ns", call_ns)
    monkeypatch.setattr(copies, "perf_counter_ns", lambda: clock_ns)
    model = nn.Linear(1, 1)
    told = copies.in_turns((model, lambda: None), (model, lambda: None), with_graph=False)
    # more than two seconds have gone after six pairs, the first of which does not count
    assert len(told["as_is_ms"]) == len(told["changed_ms"]) == 5


class Counted:
    """An optimizer as far as it is counted."""


@pytest.mark.parametrize(
    ("pieces", "updates", "optimizers", "times"),
    [
        (12, 3, 1, 4),
        (30, 2, 1, 8),  # no more than eight are put into one
        (3, 3, 1, None),  # a batch for each update
        (12, 3, 2, None),  # two optimizers: as a GAN's
        (12, 0, 0, None),
    ],
)
def test_pieces_of_an_update_are_tried_as_one_batch(
    pieces: int, updates: int, optimizers: int, times: int | None
) -> None:
    look = looking_at(BatchLook, model := Net())
    stepping = [Counted() for _ in range(optimizers)]
    for _ in range(updates):
        for optimizer in stepping:
            look._calls.optimizer(optimizer)
    look._calls._shapes[id(model), (16, 6), 2] = pieces
    look._calls._backwards = pieces
    assert look.begin() is (times is not None)
    if times is None:
        return
    for _ in range(4):
        model(torch.randn(16, 6), torch.ones(())).sum().backward()
    look.step()
    look.end()
    assert look.facts is not None
    (told,) = look.facts
    assert (told["times"], told["accumulates"], told["call_count"]) == (times, True, 4)
    assert set(model.given) == {16, 16 * times}


def test_forwards_without_a_backward_each_are_no_pieces() -> None:
    """Two views of each batch, or an evaluation between."""
    look = looking_at(BatchLook, model := Net())
    optimizer = Counted()
    for _ in range(3):
        look._calls.optimizer(optimizer)
    look._calls._shapes[id(model), (16, 6), 2] = 12
    look._calls._backwards = 6
    assert not look.begin()


@pytest.mark.parametrize(("free", "begins"), [(4 << 20, True), ((4 << 20) - 1, False), (None, True)])
def test_where_memory_is_short_nothing_is_tried(
    free: int | None, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four pieces, in a process of 1 MB."""
    monkeypatch.setattr(batch_look, "available_memory_bytes", lambda: free)
    monkeypatch.setattr(batch_look, "resident_bytes", lambda: 1 << 20)
    look = looking_at(BatchLook, model := Net())
    optimizer = Counted()
    look._calls.optimizer(optimizer)
    look._calls._shapes[id(model), (16, 6), 2] = look._calls._backwards = 4
    assert look.begin() is begins
    look.end()
