"""Whether loading draws random numbers, by the generators that it may draw from."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from diagnose.run.child.loading.first_fetches import watch_first_fetches
from diagnose.run.child.loading.loaders import _size

BESIDE = np.random.default_rng(0)  # as scripts keep one in their module


class Samples(Dataset):
    def __init__(self, change: Callable[[Samples], Any]) -> None:
        self.change = change
        self.own, self.older = np.random.default_rng(0), np.random.RandomState(0)
        self.parts = [random.Random(0), torch.Generator()]

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> float:
        self.change(self)
        return float(index)


DRAWING = {
    "python": lambda samples: random.random(),
    "numpy": lambda samples: np.random.rand(),
    "torch": lambda samples: torch.rand(1),
    "its own": lambda samples: samples.own.random(),
    "its own, older": lambda samples: samples.older.rand(),
    "in a list": lambda samples: samples.parts[0].random(),
    "torch's, in a list": lambda samples: torch.rand(1, generator=samples.parts[1]),
    "beside the class": lambda samples: BESIDE.random(),
}


def draws(change: Callable[[Samples], Any], *, wrapped: bool = False) -> bool | None:
    samples: Dataset = Samples(change)
    dataset = Subset(samples, range(6)) if wrapped else samples
    iterator = iter(DataLoader(dataset, batch_size=2, shuffle=True))  # which draws outside of the fetch
    record: dict[str, Any] = {"draws_random": None, "sample_start": None, "sample_made": None}
    watch_first_fetches(iterator, record)
    assert [len(batch) for batch in iterator] == [2] * (len(dataset) // 2)  # type: ignore[arg-type]
    return record["draws_random"]


@pytest.mark.parametrize("how", DRAWING)
@pytest.mark.parametrize("wrapped", [False, True])
def test_each_generator_is_noticed(how: str, wrapped: bool) -> None:
    assert draws(DRAWING[how], wrapped=wrapped) is True


def test_samples_without_random_numbers() -> None:
    assert draws(lambda samples: None) is False


def test_a_dataset_that_cannot_be_looked_at_is_not_known() -> None:
    class Strange:
        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            raise ValueError

    def hide(samples: Samples) -> None:
        samples.parts = Strange()  # type: ignore[assignment]

    samples = Samples(lambda samples: None)
    hide(samples)
    iterator = iter(DataLoader(samples, batch_size=2))
    record: dict[str, Any] = {"draws_random": None, "sample_start": None, "sample_made": None}
    watch_first_fetches(iterator, record)
    assert len(list(iterator)) == 4
    assert record["draws_random"] is None


def test_what_collating_takes_of_the_second_fetch() -> None:
    """Three samples of 10 ms, then 30 ms of collating: about a half. The first fetch is slow elsewhere."""
    fetches: list[int] = []

    def together(samples: list[float]) -> list[float]:
        fetches.append(len(samples))
        time.sleep(0.03 if len(fetches) == 2 else 0.0)
        return samples

    samples = Samples(lambda samples: time.sleep(0.01))
    iterator = iter(DataLoader(samples, batch_size=3, collate_fn=together))
    record: dict[str, Any] = {"draws_random": None, "sample_start": None, "sample_made": None}
    watch_first_fetches(iterator, record)
    assert len(list(iterator)) == 3
    assert 0.3 < record["collating_share"] < 0.6
    assert iterator._dataset_fetcher.collate_fn is together


def test_an_exception_of_the_collate_function_is_the_scripts() -> None:
    def together(samples: list[float]) -> list[float]:
        if samples[0] > 1:
            raise ValueError("odd lengths")
        return samples

    iterator = iter(DataLoader(Samples(lambda samples: None), batch_size=2, collate_fn=together))
    watch_first_fetches(iterator, {"draws_random": None, "sample_start": None, "sample_made": None})
    next(iterator)
    with pytest.raises(ValueError, match="odd lengths"):
        next(iterator)
    assert iterator._dataset_fetcher.collate_fn is together


def test_the_tensors_of_a_batch() -> None:
    x = torch.zeros(3, 4)  # 48 bytes
    assert _size([x, {"boxes": [x, x], "name": "a"}, ("b", 3)]) == (3, 144)
