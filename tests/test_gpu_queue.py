"""A simulated GPU with a launch queue: the step, who sets its pace, and no caution, on a few
cells of the grid of `python -m benchmarks gpu-queue`.
"""

from __future__ import annotations

import pytest

from benchmarks.gpu_queue import Job, grid, said_of, simulated, true_step_us

JOBS = [
    *grid((10, 100), (1, 45), (2, 10)),
    Job(100, 10, 10, noise=0.2),
    # a long kernel at each step's end, until which the host has begun the next one: no lead that grows
    Job(100, 2, 10, last_us=300),
    Job(100, 2, 10, last_us=900),
    # five times as slow under the profiler, which is nothing to caution about: the GPU is as fast
    Job(100, 1, 2, profiler_us=8),
    Job(1200, 10, 2),  # the queue is full in the second step
]


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_the_step_and_its_limit_are_told(job: Job) -> None:
    assert said_of(job).wrong == ""


def test_the_simulated_truth() -> None:
    # the GPU's: 45 and 1.2 from one kernel to the next
    assert true_step_us(Job(100, 45, 10)) == pytest.approx(100 * 46.2)
    assert true_step_us(Job(100, 1, 10)) == pytest.approx(100 * 10)  # the host's
    # Waiting: a launch call ends after 0.9 of the last 10 µs and its kernel starts 2 µs after that,
    # takes 1 µs; then 8 µs to the return.
    assert true_step_us(Job(100, 1, 10, waits=True)) == pytest.approx(100 * 10 - 1 - 3 + 5 + 1 + 8)


def test_a_full_queue_stops_the_host() -> None:
    # A launch takes 2 µs, a kernel 11.2: after n launches 2 n / 11.2 have run, and 1,024 wait
    # when n is 1,247. Then both take turns.
    launches_us = simulated(Job(2000, 10, 2), 2.0, 1).launches_us
    in_call_us = launches_us[:, 2] - launches_us[:, 1]
    assert in_call_us[:1200] == pytest.approx(0.6)
    assert in_call_us[1300:] == pytest.approx(11.2 - 2 + 0.6)
