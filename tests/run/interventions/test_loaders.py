"""Fixes of loaders: workers, pinned memory, and what they leave alone."""

from __future__ import annotations

import inspect
import multiprocessing
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from tests.run.running import SCRIPTS

from .trying import Apply, OnGpu, here, run_fresh, told


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


class SplitStream(Stream):
    def __iter__(self) -> Iterator[int]:
        worker = get_worker_info()
        return iter(range(4)[worker.id :: worker.num_workers] if worker else range(4))


NUMBERS = TensorDataset(torch.arange(12))


class Unsent(TensorDataset):
    def __reduce__(self) -> Any:
        raise TypeError("it holds an open file")


class ManyArrays(Dataset):  # type: ignore[type-arg]
    """Of 16 MB each, of torch and of numpy."""

    def __init__(self) -> None:
        self.tensor = torch.zeros(2**22)
        self.array = self.tensor.numpy().copy()

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.tensor[index]


LOADS = SCRIPTS / "interventions" / "loads.py"
LOADS_LINE = next(
    number for number, line in enumerate(LOADS.read_text().splitlines(), 1) if line.startswith("loader =")
)


@pytest.mark.live
def test_workers_take_the_place_of_none_and_the_losses_stay_the_same_bits() -> None:
    plain, _ = run_fresh("loads.py")
    spec = {
        "name": "dataloader",
        "arguments": {"num_workers": 2, "persistent_workers": True},
        "sites": [[str(LOADS), LOADS_LINE]],
    }
    changed, [told] = run_fresh("loads.py", spec)
    assert told == [1, ""]
    assert plain.splitlines()[-1] == "workers 0"
    assert changed.splitlines()[-1] == "workers 2"
    assert plain.splitlines()[:-1] == changed.splitlines()[:-1]
    assert len(plain.splitlines()) == 3 * 3 + 1


def test_arguments_of_loaders_given_by_position_and_by_name(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=1, prefetch_factor=4)
    made = [
        DataLoader(NUMBERS, 4, False, None, None, 0),
        DataLoader(dataset=NUMBERS, num_workers=1, prefetch_factor=7),
    ]
    assert [(loader.num_workers, loader.prefetch_factor, loader.batch_size) for loader in made] == [
        (1, 4, 4),
        (1, 4, 1),
    ]
    assert told(loaders) == (2, "")
    assert "prefetch_factor" in inspect.signature(DataLoader.__init__).parameters


def test_a_loader_that_torch_refuses_is_made_as_it_was(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=1, prefetch_factor=-1)
    loader = DataLoader(NUMBERS, 4, num_workers=0)
    assert (loader.num_workers, loader.prefetch_factor) == (0, None)
    assert (loaders.held, "non-negative" in loaders.why_not) == (0, True)


def test_a_loader_that_is_refused_when_it_is_half_made(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(loader: Any) -> None:
        if loader.num_workers:
            raise OSError("no worker can be had")

    monkeypatch.setattr(DataLoader, "check_worker_number_rationality", check)
    loaders = apply("dataloader", num_workers=1)
    assert DataLoader(NUMBERS, 4).num_workers == 0
    assert told(loaders) == (0, "torch refuses it: no worker can be had")


@pytest.fixture
def spawning(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that multiprocessing has spawned: those that it starts are spawned too."""

    def get_start_method(allow_none: bool = False) -> str:
        assert allow_none  # else the script could not choose any more
        return "spawn"

    monkeypatch.setattr(multiprocessing, "get_start_method", get_start_method)


@pytest.mark.usefixtures("spawning")
def test_workers_that_are_spawned_get_what_can_be_pickled(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=1)
    assert DataLoader(NUMBERS).num_workers == 1
    assert told(loaders) == (1, "")
    assert DataLoader(NUMBERS, collate_fn=lambda items: items).num_workers == 0
    assert DataLoader(Unsent(torch.arange(12))).num_workers == 0
    held, why_not = told(loaders)
    assert held == 1
    assert why_not.startswith(
        "Worker processes get their work by pickle here (spawn), and the loader's collate_fn cannot be "
        "pickled:"
    )
    # it has some already
    assert DataLoader(NUMBERS, num_workers=2, collate_fn=lambda items: items).num_workers == 1


@pytest.mark.usefixtures("spawning")
def test_large_data_are_not_copied_to_see_whether_they_can_be_sent(apply: Apply) -> None:
    apply("dataloader", num_workers=1)
    large = ManyArrays()
    tracemalloc.start()
    try:
        assert DataLoader(large).num_workers == 1
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_daemon_of_multiprocessing_starts_no_workers(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    loaders = apply("dataloader", num_workers=1)
    assert DataLoader(NUMBERS).num_workers == 0
    assert "is a daemon" in loaders.why_not


def test_what_needs_workers_goes_with_the_last_of_them(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=0)
    loader = DataLoader(
        NUMBERS,
        num_workers=2,
        persistent_workers=True,
        prefetch_factor=3,
        timeout=5,
        multiprocessing_context="fork",
    )
    assert (loader.num_workers, loader.persistent_workers, loader.prefetch_factor, loader.timeout) == (
        0,
        False,
        None,
        0,
    )
    assert [int(number) for (number,) in loader] == list(range(12))
    assert loaders.held == 1


def test_options_of_workers_for_a_loader_without_any_are_left_out(apply: Apply) -> None:
    loaders = apply("dataloader", persistent_workers=True, prefetch_factor=4)
    assert not DataLoader(NUMBERS).persistent_workers
    held, why_not = told(loaders)
    assert held == 0
    assert "no workers" in why_not


def test_only_the_loaders_of_the_lines_in_question(apply: Apply) -> None:
    loaders = apply("dataloader", here(), num_workers=2)
    changed = DataLoader(NUMBERS)
    other = DataLoader(NUMBERS)
    assert (changed.num_workers, other.num_workers, loaders.held) == (2, 0, 1)


def test_a_loader_that_is_so_already(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=2)
    DataLoader(NUMBERS, num_workers=2)
    assert told(loaders) == (0, "It is already so.")


def test_no_loader_at_all(apply: Apply) -> None:
    assert told(apply("dataloader", num_workers=2)) == (0, "No DataLoader was made there.")


def test_an_iterable_dataset_is_split_among_workers_only_if_it_splits_itself(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=2)
    assert DataLoader(Stream()).num_workers == 0
    assert (loaders.held, "all its data again" in loaders.why_not) == (0, True)
    assert DataLoader(SplitStream()).num_workers == 2
    assert loaders.held == 1


def test_pinned_memory_without_a_gpu_is_refused_and_the_rest_is_done(apply: Apply) -> None:
    loaders = apply("dataloader", pin_memory=True, num_workers=1)
    loader = DataLoader(NUMBERS)
    assert (loader.pin_memory, loader.num_workers, loaders.held) == (False, 1, 1)
    assert "GPU" in loaders.why_not


def test_pinned_memory_with_a_gpu(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    loaders = apply("dataloader", pin_memory=True)
    assert DataLoader(NUMBERS).pin_memory
    assert told(loaders) == (1, "")


def test_the_scripts_own_mistake_is_its_own(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=2)
    with pytest.raises(TypeError, match="unexpected"):
        DataLoader(NUMBERS, sise=3)
    with pytest.raises(ValueError, match="batch_size"):
        DataLoader(NUMBERS, batch_size=-1)
    assert loaders.held == 0


def test_a_dataset_on_the_gpu_gets_no_workers(apply: Apply) -> None:
    loading = apply("dataloader", num_workers=2)
    assert DataLoader(TensorDataset(torch.ones(4).as_subclass(OnGpu))).num_workers == 0
    assert told(loading) == (0, "The dataset keeps tensors on the GPU, which forked workers cannot use.")
