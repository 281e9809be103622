"""Loading beside the step, worked out by hand."""

import pytest

from diagnose.predict.loading import Loading


@pytest.mark.parametrize(
    ("workers", "step_ms"),
    [
        (0, 16.0),  # 12 ms of loading, then 4 of the rest
        (1, 12.0),  # one worker takes 12 ms a batch
        (2, 6.0),  # two together 6 ms a batch
        (3, 4.0),  # 4 ms a batch, as long as the rest
        (8, 4.0),  # the rest takes 4 ms whoever loads
    ],
)
def test_the_slower_of_the_workers_and_the_rest(workers: int, step_ms: float) -> None:
    assert Loading((12.0,), 1.0, 16.0, cores=16).step_ms(4.0, workers) == pytest.approx(step_ms)


def test_all_the_work_has_to_fit_on_the_cores() -> None:
    assert Loading((12.0,), 1.0, 16.0, cores=2).step_ms(4.0, 8) == pytest.approx(8.0)


def test_a_loader_that_mostly_waits_needs_few_cores() -> None:
    # of the 16 ms the processor worked 5
    assert Loading((12.0,), 1.0, 5.0, cores=1).step_ms(4.0, 3) == pytest.approx(5.0)


def test_two_batches_a_step() -> None:
    # two batches of 4 ms each
    assert Loading((12.0,), 2.0, 28.0, cores=16).step_ms(4.0, 3) == pytest.approx(8.0)


def test_a_slow_batch_is_hidden_as_far_as_the_queue_reaches() -> None:
    # Of eight batches seven take 2 ms and one 30: 44 ms by one worker, 5.5 a batch. The rest takes 6 ms. One
    # worker holds two ahead: 12 ms of the 30 are hidden, and a batch of 2 ms fills a place while 6 are used
    # up. A queue as long as the pattern hides all.
    series = (2.0,) * 7 + (30.0,)
    assert Loading(series, 1.0, 0.0, cores=8, prefetch=2).step_ms(6.0, 1) > 7.0
    assert Loading(series, 1.0, 0.0, cores=8, prefetch=8).step_ms(6.0, 1) == pytest.approx(6.0, rel=0.05)
