"""What workers that are started anew each epoch cost, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.call_sites import RESTARTED, CallSite, call_sites
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing

TIMELINE = """
main  0    1000  step  ProfilerStep#1
main  0    40    mark  next@12
main  100  800   op    aten::mm
"""
# begun at the first step and at the twelfth, of 10 ms each, and so on: every ten steps
BEGUN_NS = [5_000_000, 105_000_000, 205_000_000]
TRAINING = {
    "file": "/job/train.py",
    "line": 20,
    "function": "main",
    "num_workers": 2,
    "dataset_length": 100,
    "fed_share": 1.0,
    "persistent_workers": False,
    "iterator_start_ms": [900, 30, 30],
    "iterator_start_ns": BEGUN_NS,
    "iterator_end_ms": [12, 12],
}
VALIDATION = TRAINING | {"line": 30, "dataset_length": 20, "fed_share": 0.0}
# after a start the system works 40, 20, 6 and 4 ms for four batches, and 1 ms for each later one: 66 ms more
AFTER = [[500.0] * 8, [40.0, 20, 6, 4, 1, 1, 1, 1], [40.0, 20, 6, 4, 1, 1]]


def measured(*loaders: dict[str, Any], threads: int = 2, fetch_ms: float = 2.0) -> Measured:
    facts = {"cpu_core_count": 8, "thread_count": threads, "loaders": list(loaders)}
    case = {"timeline": TIMELINE, "facts": facts, "plain_ms": [10] * 25, "fetch_ms": [fetch_ms] * 25}
    return measured_case(case)


@pytest.mark.parametrize(("threads", "copying_ms"), [(1, 66.0), (2, 66 * 0.75), (4, 66 * 0.625)])
def test_memory_shared_with_workers_is_copied_after_a_start(threads: int, copying_ms: float) -> None:
    # (30 - 2 + 12) ms to start and to end, each ten steps
    one = measured(TRAINING | {"system_ms_after_start": AFTER}, threads=threads)
    assert one.metric("epoch_starts_ms") == pytest.approx((40 + copying_ms) / 10)


def test_without_batches_beyond_the_slow_ones_nothing_is_known_of_copying() -> None:
    one = measured(TRAINING | {"system_ms_after_start": [[500.0] * 8, [40.0, 20, 6, 4]]})
    assert one.metric("epoch_starts_ms") == pytest.approx(4)


def test_a_validations_starts_are_told_with_the_trainings() -> None:
    # the validation's: 30 + 12 ms each ten steps
    both = measured(TRAINING, VALIDATION)
    assert both.metric("epoch_starts_ms") == pytest.approx(4 + 4.2)
    assert both.metric("other_loader_starts_ms") == 0
    sites = [CallSite("/job/train.py", 20), CallSite("/job/train.py", 30)]
    assert call_sites(RESTARTED, both, []) == sites
    assert call_sites("DataLoader", both, []) == sites[:1]


def test_a_validations_starts_stand_alone_where_the_training_starts_no_workers() -> None:
    for training in (
        TRAINING | {"num_workers": 0},
        TRAINING | {"persistent_workers": True, "iterator_end_ms": []},
    ):
        one = measured(training, VALIDATION)
        assert one.metric("other_loader_starts_ms") == pytest.approx(4.2)


def test_a_validations_starts_stand_alone_where_the_training_is_in_its_first_epoch() -> None:
    # The training's loader was begun twice in the first step: once only to look at a batch.
    looked_at = {"iterator_start_ms": [900, 30], "iterator_start_ns": [4_000_000, 5_000_000]}
    one = measured(TRAINING | looked_at, VALIDATION)
    assert isinstance(one.metric("epoch_starts_ms"), Missing)
    assert one.metric("other_loader_starts_ms") == pytest.approx(4.2)


@pytest.mark.parametrize(
    ("workers", "start_ms", "cost_ms"),
    [
        (0, 5.0, 3.0),  # beyond a fetch of 2 ms
        (2, 3.0, 3.0 + 0.5),  # kept workers would load ahead; and to end them
        (2, 30.0, 4.0),  # all that the model leaves of the step
    ],
)
def test_an_iterator_for_each_batch_costs_its_start(workers: int, start_ms: float, cost_ms: float) -> None:
    loader = TRAINING | {
        "num_workers": workers,
        "iterator_start_ms": [900, start_ms, start_ms],
        "iterator_start_ns": [1_000_000 + 10_000_000 * step for step in range(25)],
        "iterator_end_ms": [0.5] if workers else [],
        "batches_per_epoch": 50,
    }
    forward = TIMELINE.replace("main  100", "main  100  600   mark  forward@20\nmain  100")
    facts = {"cpu_core_count": 8, "thread_count": 1, "loaders": [loader]}
    one = measured_case(
        {
            "timeline": forward.replace("100  800", "100  600"),
            "facts": facts,
            "plain_ms": [10] * 25,
            "fetch_ms": [2.0] * 25,
        }
    )
    assert one.metric("one_batch_iterators") is True
    assert one.metric("one_batch_starts_ms") == pytest.approx(cost_ms)
