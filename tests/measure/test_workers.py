"""What workers find free and what they cost, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing

# A step of 100 ms: 40 ms load a batch in the main process, 60 ms compute.
STEP = {
    "timeline": "main 0 100000 step ProfilerStep#1\nmain 0 40000 mark next@12\nmain 40000 60000 op aten::mm",
    "plain_ms": [100, 100, 100],
    "fetch_ms": [40, 40, 40],
    "fetch_cpu_ms": [40, 40, 40],
}


def step(used: float, *, others: float = 0.0, cores: int = 2, threads: int = 2, **loader: Any) -> Measured:
    facts = {
        "cpu_core_count": cores,
        "machine_core_count": cores,
        "thread_count": threads,
        "plain_usage": {"cpu_cores_used": used, "machine_busy_share": (used + others) / cores},
        "memory_available_bytes": 8_000_000_000,
        "loaders": [
            {"num_workers": 0, "collate": "default", "dataset_length": 1000, "batch_size": 20} | loader
        ],
    }
    return measured_case({**STEP, "facts": facts})


@pytest.mark.parametrize(
    ("used", "computing", "free"),
    [
        (1.0, 1.0, 1.0),  # 100 ms of processor time, 40 of them for loading: 60 in 60 ms
        (1.6, 2.0, 0.0),  # 160 ms, 40 of them for loading: both cores compute for 60 ms
        (1.3, 1.5, 0.5),
    ],
)
def test_cores_count_while_the_step_computes(used: float, computing: float, free: float) -> None:
    one = step(used)
    assert one.metric("computing_cores") == pytest.approx(computing)
    assert one.metric("free_core_count") == pytest.approx(free)
    assert one.metric("core_for_workers") is (free > 0)


def test_cores_of_other_programs_are_not_free() -> None:
    assert step(1.0, others=0.9).metric("core_for_workers") is False


def test_a_worker_that_waits_needs_no_core() -> None:
    one = measured_case({**STEP, "fetch_cpu_ms": [4] * 3, "facts": step(1.24).recording.facts})
    assert one.metric("free_core_count") == pytest.approx(0.0)  # 124 less 4 ms in 60
    assert one.metric("core_for_workers") is True


@pytest.mark.parametrize(
    ("used", "cores", "threads", "share"),
    [
        (1.6, 2, 2, 1.0),
        (1.3, 2, 2, 0.5),
        (1.0, 2, 1, 0.0),
        (1.6, 8, 2, 0.0),  # two threads leave six cores
    ],
)
def test_how_much_of_the_computing_a_worker_slows(
    used: float, cores: int, threads: int, share: float
) -> None:
    assert step(used, cores=cores, threads=threads).metric("parallel_share") == pytest.approx(share)


def test_a_hand_over_costs_by_tensors_and_bytes() -> None:
    # 0.35 + 2 × 0.12 + 5 × 0.08
    one = step(1.0, batch_bytes=5_000_000, batch_tensor_count=2)
    assert one.metric("handover_ms") == pytest.approx(0.99)
    assert isinstance(step(1.0).metric("handover_ms"), Missing)


def test_what_is_left_when_samples_are_kept() -> None:
    # 20 samples of 0.003 ms and 5 MB of 0.06 ms are left of 40 ms; 1000 of 0.25 MB are 250 MB of 8 GB.
    one = step(1.0, batch_bytes=5_000_000, batch_tensor_count=2, draws_random=False)
    assert one.metric("left_when_cached") == pytest.approx((0.06 + 0.3) / 40)
    assert one.metric("cache_memory_share") == pytest.approx(0.25 / 8)
    assert one.metric("item_fetch_ms") == pytest.approx(2.0)
    assert one.metric("fetch_draws_random") is False


@pytest.mark.parametrize(
    ("flags", "draws"), [([3, 1, 3], False), ([3, 1, 7], True), ([1, 1, 1], None), ([0, 0, 0], None)]
)
def test_whether_workers_draw_random_numbers(flags: list[int], draws: bool | None) -> None:
    """In a worker 1, and that it was asked 2, and has drawn 4."""
    one = step(1.0, num_workers=2)
    one.recording.fetches["in_worker"] = flags
    told = one.metric("fetch_draws_random")
    assert isinstance(told, Missing) if draws is None else told is draws


def test_what_the_script_collates_itself_is_no_loading_of_samples() -> None:
    # of 40 ms 10 are collating; of the other 30 the 20 samples leave 0.06, and a sample takes 1.5
    given = {"batch_bytes": 5_000_000, "batch_tensor_count": 2, "collate": "data.together"}
    one = step(1.0, **given, collating_share=0.25)
    assert one.metric("left_when_cached") == pytest.approx(0.06 / 30)
    assert one.metric("item_fetch_ms") == pytest.approx(1.5)
    assert isinstance(step(1.0, **given).metric("left_when_cached"), Missing)


def test_what_workers_take_beyond_loading_on_the_spot() -> None:
    # 40 ms of waiting for batches that take 10 ms, or as long where they wait for files
    took, worked = {"fetch_ms": [10] * 3}, {"fetch_cpu_ms": [10] * 3}
    facts = {"facts": step(1.0).recording.facts}
    assert measured_case({**STEP, **took, **worked, **facts}).metric("worker_loss_share") == pytest.approx(
        0.3
    )
    assert measured_case({**STEP, **worked, **facts}).metric("worker_loss_share") == pytest.approx(0.0)


def test_workers_also_take_what_they_work_on_cores_that_the_step_computes_on() -> None:
    # 40 ms of waiting, and 10 ms of loading on cores that all compute, for batches of 10 ms; or 50 ms of loading,
    # which slow 60 ms of computing by half of it at most
    used = {"facts": step(1.6, num_workers=2).recording.facts}
    brief, long = ({"fetch_ms": [ms] * 3, "fetch_cpu_ms": [ms] * 3} for ms in (10, 50))
    assert measured_case({**STEP, **brief, **used}).metric("worker_loss_share") == pytest.approx(0.4)
    assert measured_case({**STEP, **long, **used}).metric("worker_loss_share") == pytest.approx(0.2)
    # nothing on a machine with free cores
    free = {"facts": step(1.6, cores=8, num_workers=2).recording.facts}
    assert measured_case({**STEP, **brief, **free}).metric("worker_loss_share") == pytest.approx(0.3)


def test_waiting_for_a_core_is_no_loading() -> None:
    # 40 ms, of which the fetch worked 10, waited 20 for a core, and 10 for a file
    one = {**STEP, "fetch_cpu_ms": [10] * 3, "facts": step(1.0).recording.facts}
    assert measured_case(one | {"fetch_delay_ms": [20] * 3}).metric("loading_on_the_spot_ms") == 20
    assert measured_case(one | {"fetch_delay_ms": [0] * 3}).metric("loading_on_the_spot_ms") == 40
    assert measured_case(one).metric("loading_on_the_spot_ms") == 40  # it is not known what it waited for


def test_workers_of_an_older_recording_work_no_more_than_the_machine_did_for_them() -> None:
    # One worker fetches all the time. Of two cores 0.6 worked, 0.4 of it for the script's own process.
    facts = step(0.4, others=0.2, num_workers=1).recording.facts
    one = measured_case({**STEP, "fetch_ms": [100] * 3, "fetch_cpu_ms": [100] * 3, "facts": facts})
    one.recording.fetches["cpu_ns"] = np.nan
    assert one.metric("fetch_busy_share") == pytest.approx(0.2)
