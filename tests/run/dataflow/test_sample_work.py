"""What depends on a loader's samples alone: a frozen network beside one that is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from diagnose.run.child import guard
from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
Distilled = Callable[[nn.Module, nn.Module, Tensor], Tensor]


def of_samples(
    loss_of: Distilled, *, frozen: bool = True, draws: bool = False, first: nn.Module | None = None
) -> set[str]:
    """The lines told of six steps of training with this loss, by their text. ``first``: the teacher's first
    layer, else one that drops numbers where it trains (``draws``).
    """
    torch.manual_seed(0)
    teacher = nn.Sequential(first or nn.Dropout(0.5), nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
    teacher.requires_grad_(False).train(draws)
    student = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    batches: Iterator[list[Tensor]] = iter(DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=8))
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    ended = False
    while not ended:
        (x,) = next(batches)
        optimizer.zero_grad()
        loss_of(teacher, student, x).backward()
        optimizer.step()
        if not frozen:
            with torch.no_grad():
                for kept in teacher.parameters():
                    kept.mul_(0.99)
        ended = flow.step()
    assert flow.facts is not None
    return {LINES[told["line"] - 1].strip() for told in flow.facts["of_samples"] if told["ns"]}


def distilled(teacher: nn.Module, student: nn.Module, x: Tensor) -> Tensor:
    target = teacher(x)
    return (student(x) - target).square().mean()


def asked(model: nn.Module, x: Tensor) -> Tensor:
    return torch.log_softmax(model(x), dim=-1)


def through_a_function(teacher: nn.Module, student: nn.Module, x: Tensor) -> Tensor:
    target = asked(teacher, x.sqrt())
    return (asked(student, x) - target).square().mean()


def of_noisy_samples(teacher: nn.Module, student: nn.Module, x: Tensor) -> Tensor:
    target = teacher(x + torch.randn(8, 8))
    return (student(x) - target).square().mean()


def of_what_the_host_says(teacher: nn.Module, student: nn.Module, x: Tensor) -> Tensor:
    target = teacher(x * torch.tensor(3.0))
    return (student(x) - target).square().mean()


def with_a_share_for_each(teacher: nn.Module, student: nn.Module, x: Tensor) -> Tensor:
    torch.zeros(2).bernoulli_(p=torch.tensor([0.0, 0.5]))
    return distilled(teacher, student, x)


def test_shares_in_a_tensor_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """To compare them would fail, or make a GPU wait."""
    monkeypatch.setattr(guard, "_failures", {})
    assert of_samples(with_a_share_for_each) == {"target = teacher(x)"}
    assert guard.notes() == []


def test_a_frozen_network_s_outputs() -> None:
    assert of_samples(distilled) == {"target = teacher(x)"}


def test_it_is_told_where_all_that_is_called_is_of_samples() -> None:
    """Not in the function that asks both networks."""
    assert of_samples(through_a_function) == {"target = asked(teacher, x.sqrt())"}


def test_one_that_moves_is_not_frozen() -> None:
    assert of_samples(distilled, frozen=False) == set()


def test_random_numbers_make_it_another_each_time() -> None:
    assert of_samples(distilled, draws=True) == set()


@pytest.mark.parametrize("keeps_statistics", [True, False])
def test_a_norm_that_trains_mixes_the_samples_of_a_batch(keeps_statistics: bool) -> None:
    norm = nn.BatchNorm1d(8, track_running_stats=keeps_statistics)
    assert of_samples(distilled, draws=True, first=norm) == set()
    told = {"target = teacher(x)"} if keeps_statistics else set()
    assert of_samples(distilled, draws=False, first=norm) == told


@pytest.mark.parametrize("loss_of", [of_noisy_samples, of_what_the_host_says])
def test_what_is_not_known_may_change(loss_of: Distilled) -> None:
    assert of_samples(loss_of) == set()


def picked(
    loss_of: Distilled, pick: Callable[[Tensor, Tensor], Tensor], *, changes: bool = False
) -> set[str]:
    """The same of batches that the script picks itself from a tensor of samples."""
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).requires_grad_(False)
    student, samples = nn.Linear(8, 4), torch.rand(64, 8)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    ended = False
    while not ended:
        x = pick(samples, torch.randperm(64)[:6])
        if changes:
            samples[:2] = 1.0
        optimizer.zero_grad()
        loss_of(teacher, student, x).backward()
        optimizer.step()
        ended = flow.step()
    assert flow.facts is not None
    return {LINES[told["line"] - 1].strip() for told in flow.facts["of_samples"] if told["ns"]}


def with_pairs(teacher: nn.Module, student: nn.Module, x: Tensor) -> Tensor:
    target = torch.cdist(x, x)
    return (torch.cdist(student(x), student(x)) - target).square().mean()


@pytest.mark.parametrize(
    "pick", [lambda samples, index: samples[index], lambda samples, index: samples.index_select(0, index)]
)
def test_samples_that_the_script_picks_from_a_tensor(pick: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert "target = teacher(x)" in picked(distilled, pick)
    assert "target = teacher(x)" not in picked(distilled, pick, changes=True)  # as a replay buffer does
    assert not {line for line in picked(with_pairs, pick) if line.startswith("target")}


def test_numbers_drawn_for_each_batch_are_no_samples() -> None:
    assert "target = teacher(x)" not in picked(distilled, lambda samples, index: torch.rand(8, 8))
