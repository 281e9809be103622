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
    assert Loading((12.0,), 1.0, 12.0, cores=16).step_ms(4.0, workers) == pytest.approx(step_ms)


def test_all_the_work_has_to_fit_on_the_cores() -> None:
    # 4 and 32 ms on four cores
    assert Loading((32.0,), 1.0, 32.0, cores=4).step_ms(4.0, 8) == pytest.approx(9.0)


@pytest.mark.parametrize(("outcome", "step_ms"), [("best", 10.0), ("guess", 11.8), ("worst", 14.2)])
def test_of_few_cores_none_is_quite_free(outcome: str, step_ms: float) -> None:
    # 6 ms beside 10 on the other of two cores: they share memory, at worst 0.7 of each ms
    loading = Loading((6.0,), 1.0, 6.0, cores=2)
    assert loading.step_ms(10.0, 1, outcome=outcome) == pytest.approx(step_ms)  # type: ignore[arg-type]


def test_a_loader_that_mostly_waits_needs_few_cores() -> None:
    # of its 12 ms the processor worked 1, beside 4 of the step, on one core
    assert Loading((12.0,), 1.0, 1.0, cores=1).step_ms(4.0, 3) == pytest.approx(5.0)


def test_two_batches_a_step() -> None:
    # two batches of 4 ms each
    assert Loading((12.0,), 2.0, 24.0, cores=16).step_ms(4.0, 3) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("outcome", "step_ms"),
    [
        ("best", 13.0),  # the cores are shared evenly: 2 × 10 and 6 ms of work on two cores
        ("guess", 16.0),  # as long as loading and computing one after another
        ("worst", 22.0),  # the step waits for its slowest thread: twice the 6 ms
    ],
)
def test_workers_take_cores_from_a_step_that_computes_on_all(outcome: str, step_ms: float) -> None:
    loading = Loading((6.0,), 1.0, 6.0, cores=2, computing_cores=2, parallel=1.0)
    assert loading.step_ms(10.0, 1, outcome=outcome) == pytest.approx(step_ms)  # type: ignore[arg-type]


def test_where_loading_is_most_of_the_work_the_cores_are_its() -> None:
    # 80 ms of loading beside 10 ms on both of two cores: these take 20 ms, in which 10 of the 80 are done; the
    # other 70 on two cores take 35.
    loading = Loading((80.0,), 1.0, 80.0, cores=2, computing_cores=2, parallel=1.0)
    assert loading.step_ms(10.0, 2) == pytest.approx(55.0)


def test_a_loader_that_sleeps_gains_whatever_the_step_computes_on() -> None:
    loading = Loading((20.0,), 1.0, 0.5, cores=2, computing_cores=2, parallel=1.0)
    assert loading.step_ms(10.0, 4) == pytest.approx(10.5)


def test_each_batch_is_packed_and_handed_over() -> None:
    # The worker takes 3 + 1 ms a batch, the training thread 2 beside 5 of its own.
    loading = Loading((3.0,), 1.0, 3.0, cores=8, handover_ms=2.0, packing_ms=1.0)
    assert loading.step_ms(5.0, 1) == pytest.approx(7.0)
    assert loading.step_ms(1.0, 1) == pytest.approx(4.0)


def test_without_workers_the_step_loads_on_the_spot() -> None:
    # 1 ms of packing and fetching on cores that are all in use costs the step 1 ms of its 4: 3.2 are left. Of what
    # a fetch takes in the worker 0.7 are left.
    loading = Loading((0.5,), 1.0, 0.5, cores=2, computing_cores=2, parallel=1.0, packing_ms=0.5, spot_ms=0.5)
    assert loading.inline_ms(4.0, 2) == pytest.approx(3.2 + 0.35)
    # and nothing where a core is free
    assert Loading((0.5,), 1.0, 0.5, cores=8, spot_ms=0.5).inline_ms(4.0, 2) == pytest.approx(4.35)


def test_a_slow_batch_is_hidden_as_far_as_the_queue_reaches() -> None:
    # Of eight batches seven take 2 ms and one 30: 44 ms by one worker, 5.5 a batch. The rest takes 6 ms. One
    # worker holds two ahead: 12 ms of the 30 are hidden, and a batch of 2 ms fills a place while 6 are used
    # up. A queue as long as the pattern hides all.
    series = (2.0,) * 7 + (30.0,)
    assert Loading(series, 1.0, 0.0, cores=8, prefetch=2).step_ms(6.0, 1) > 7.0
    assert Loading(series, 1.0, 0.0, cores=8, prefetch=8).step_ms(6.0, 1) == pytest.approx(6.0, rel=0.05)
