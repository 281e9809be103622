"""What the loader's facts and fetch times say, on numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.input import plain_fetches
from diagnose.measure.measured import FACT_SELECTORS, FactPlace
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing

TIMELINE = """
main  0    1000  step  ProfilerStep#1
main  0    40    mark  next@12
main  100  800   op    aten::mm
"""


def measured(loader: dict[str, Any], **case: Any) -> Measured:
    facts = {"cpu_core_count": 8, "loaders": [{"dataset_length": 100, **loader}], **case.pop("facts", {})}
    return measured_case({"timeline": TIMELINE, "facts": facts, **case})


def test_workers_are_busy_while_they_fetch() -> None:
    # 4 fetches of 5 ms in 40 ms of 2 workers: 20 of 80 ms.
    assert measured({"num_workers": 2}, plain_ms=[10] * 4, fetch_ms=[5] * 4).metric(
        "worker_busy_share"
    ) == pytest.approx(0.25)


def test_a_workers_first_fetch_is_its_start() -> None:
    one = measured({"num_workers": 2}, plain_ms=[10] * 4, fetch_ms=[90, 5, 80, 5])
    one.recording.fetches["in_worker"] = 1
    one.recording.fetches["pid"] = pd.Series([1, 1, 2, 2], dtype="uint32")
    assert plain_fetches(one).tolist() == [5_000_000, 5_000_000]


@pytest.mark.parametrize("in_worker", [0, 1])
def test_batches_of_a_validation_feed_no_step(in_worker: int) -> None:
    """Steps of 10 ms fetch one batch of 4 ms each, and the last one, of 30 ms, twenty of 0.5 ms besides. Where
    workers fetch, steps do not tell what for: (4 × 4 + 20 × 0.5) ms ÷ 24.
    """
    steps = [0, 10, 20, 30] + [35] * 20
    one = measured({"num_workers": in_worker}, plain_ms=[10, 10, 10, 30], fetch_ms=[4] * 4 + [0.5] * 20)
    one.recording.fetches["start_ns"] = pd.Series(steps, dtype="uint64") * 1_000_000
    one.recording.fetches["in_worker"] = in_worker
    assert one.metric("fetch_ms") == pytest.approx(26 / 24 if in_worker else 4)


def test_an_epochs_start_is_spread_over_its_steps() -> None:
    # (110 - 10 for the fetch that any epoch begins with) ms in 50 steps; the very first start does not count.
    loader = {"num_workers": 2, "iterator_start_ms": [900, 100, 110, 120], "batches_per_epoch": 50}
    assert measured(loader, plain_ms=[10] * 4, fetch_ms=[10] * 4).metric("epoch_starts_ms") == pytest.approx(
        2.0
    )


def test_so_is_the_end_of_its_workers() -> None:
    # (110 - 10) ms to start and 40 to end, in 50 steps
    loader = {"num_workers": 2, "iterator_start_ms": [900, 100, 110, 120], "batches_per_epoch": 50}
    ended = measured(loader | {"iterator_end_ms": [30, 40, 50]}, plain_ms=[10] * 4, fetch_ms=[10] * 4)
    assert ended.metric("epoch_starts_ms") == pytest.approx(2.8)


def test_so_is_every_start_of_an_epoch() -> None:
    """Of four steps of 10 ms, the loader is begun at 5 and 25 ms, and once more for an evaluation after each
    epoch of two: two starts of (30 - 10) ms in two steps.
    """
    begun_ns = [5_000_000, 6_000_000, 25_000_000, 26_000_000]
    loader = {"num_workers": 2, "iterator_start_ms": [900, 30, 30, 30], "iterator_start_ns": begun_ns}
    one = measured(loader, plain_ms=[10] * 4, fetch_ms=[10] * 4)
    assert one.metric("epoch_step_count") == 2
    assert one.metric("epoch_starts_ms") == pytest.approx(20)
    once = loader | {"iterator_start_ms": [900, 30], "iterator_start_ns": begun_ns[::2]}
    assert measured(once, plain_ms=[10] * 4, fetch_ms=[10] * 4).metric("epoch_starts_ms") == pytest.approx(10)


def test_one_epoch_says_nothing_about_the_next() -> None:
    one = measured({"num_workers": 2, "iterator_start_ms": [900], "batches_per_epoch": 50}, plain_ms=[10] * 4)
    assert isinstance(one.metric("epoch_starts_ms"), Missing)


@pytest.mark.parametrize(("slow_step", "slow_fetch", "cost"), [(26, 100, 1.6), (26, 14, 1.2), (14, 100, 0.0)])
def test_a_burst_costs_what_steps_and_fetches_both_show(
    slow_step: float, slow_fetch: float, cost: float
) -> None:
    # Beyond the median, spread over ten steps: the late step 16 ms, the slow fetch
    # 98 or 12 ms. 14 ms is not yet late.
    one = measured({"num_workers": 2}, plain_ms=[10] * 9 + [slow_step], fetch_ms=[2] * 9 + [slow_fetch])
    assert one.metric("input_bursts_ms") == pytest.approx(cost)


def test_a_late_step_at_an_epochs_end_is_no_burst() -> None:
    # Of epochs of 6 steps the sixth of these, and the next, hold an end; the ninth does not:
    # 16 ms beyond the median in ten steps.
    loader = {"num_workers": 2, "batches_per_epoch": 6, "iterator_start_ms": [1, 1]}
    steps_ms = [10, 10, 10, 10, 10, 60, 30, 10, 26, 10]
    one = measured(loader, plain_ms=steps_ms, fetch_ms=[2] * 9 + [500])
    assert one.metric("input_bursts_ms") == pytest.approx(1.6)
    assert one.metric("input_bursts_count_per_step") == pytest.approx(0.1)


def test_cores_that_loader_workers_use_are_not_idle() -> None:
    facts = {"machine_core_count": 8, "plain_usage": {"cpu_cores_used": 1.5, "machine_busy_share": 0.75}}
    one = measured({"num_workers": 2}, facts=facts, plain_ms=[10] * 4, fetch_ms=[5] * 4)
    assert one.metric("idle_core_count") == pytest.approx(8 - 1.5 - 2 * 0.25)
    assert one.metric("others_busy_share") == pytest.approx(0.75 - 2.0 / 8)


def test_a_trace_takes_an_idle_core_for_granted() -> None:
    one = measured_case({"timeline": TIMELINE})
    assert isinstance(one.metric("idle_core_count"), Missing)
    assert one.metric("core_for_workers") is True


@pytest.mark.parametrize(
    ("workers", "cores_used", "others_used", "more"),
    [(0, 7.4, 0.0, 1), (1, 1.0, 0.0, 2), (2, 1.0, 0.0, None), (0, 7.8, 0.0, None), (0, 4.0, 4.0, None)],
)
def test_more_workers_are_named_where_there_is_a_core_for_them(
    workers: int, cores_used: float, others_used: float, more: int | None
) -> None:
    """A fetch of 0.04 ms beside 0.96 ms of work: one worker keeps up, and one more is suggested where a core is
    free for it.

    A quarter of a core must be idle while the step computes, and not in use by other programs.
    """
    facts = {
        "machine_core_count": 8,
        "plain_usage": {
            "cpu_cores_used": cores_used,
            "machine_busy_share": (cores_used + others_used + workers * 0.04) / 8,
        },
    }
    found = measured({"num_workers": workers}, facts=facts, plain_ms=[1] * 4, fetch_ms=[0.04] * 4).metric(
        "more_workers"
    )
    assert found == more or (more is None and isinstance(found, Missing))


FETCH = "0  410  12  torch/utils/data/dataloader.py: __next__\n"
FETCHING = """
main  0    1000  step  ProfilerStep#1
main  1    400   mark  next@12
main  500  400   op    aten::mm
"""


def item(calls: str) -> Measured:
    """400 of the step's 1000 µs are the fetch, in which these calls run."""
    return measured_case({"timeline": FETCHING, "calls": FETCH + calls})


def test_a_slow_item_is_one_line_where_one_takes_most_of_the_fetch() -> None:
    one = item(
        "10  240  30  pandas/core/series.py: __getitem__\n250  100  31  pandas/core/series.py: __getitem__"
    )
    assert one.metric("slow_item_fetch_share") == pytest.approx(0.6)
    assert one.metric("slow_item_where") == "one line"
    assert [place.line for place in places(one)] == [30]


def test_a_slow_item_is_a_function_where_its_lines_share_the_fetch() -> None:
    # 160 + 100 + 60 of 400 µs; the file read by line 33 can only be done ahead.
    calls = (
        "10   100  30  pandas/core/indexing.py: __getitem__\n"
        "110  160  31  pandas/core/series.py: __getitem__\n"
        "270  60   32  pandas/core/series.py: to_numpy\n"
        "330  40   33  numpy/lib/_npyio_impl.py: load"
    )
    one = item(calls)
    assert one.metric("slow_item_fetch_share") == pytest.approx(0.8)
    assert one.metric("slow_item_where") == "3 lines of `main`"
    assert one.metric("slow_item_callee") == "pandas: __getitem__"
    assert one.metric("slow_item_reads_files") is False
    assert [place.line for place in places(one)] == [31, 30, 32]


def test_a_function_that_reads_files_is_judged_by_its_other_lines() -> None:
    one = item(
        "10  180  30  numpy/lib/_npyio_impl.py: load\n200  100  31  pandas/core/series.py: __getitem__"
    )
    assert one.metric("slow_item_fetch_share") == pytest.approx(0.25)  # of line 31
    assert [place.line for place in places(one)] == [31]


def test_loading_is_by_lines_and_the_loop_has_the_rest() -> None:
    one = item("10  100  30  pandas/core/series.py: __getitem__\n250  60  31  numpy/lib.py: clip")
    told = {place.line: place.ms_per_step for place in places(one, "loading_work")}
    assert told == pytest.approx({30: 0.1, 31: 0.06, 12: 0.24})
    without = measured_case({"timeline": FETCHING})
    assert {place.line: place.ms_per_step for place in places(without, "loading_work")} == pytest.approx(
        {12: 0.4}
    )


def places(measured: Measured, selector: str = "slow_item_line") -> list[FactPlace]:
    found = FACT_SELECTORS[selector].places(measured)
    assert not isinstance(found, Missing)
    return found


@pytest.mark.parametrize(
    ("made_in", "place"), [("/job/data.py", ("/job/data.py", 63)), ("", ("/job/train.py", 12))]
)
def test_samples_of_a_librarys_dataset_are_mended_where_its_loader_is_made(
    made_in: str, place: tuple[str, int]
) -> None:
    """The loop over it, line 12, is told where that is not the script's code."""
    loader = {"num_workers": 0, "file": made_in, "line": 63, "function": "loaders", "collating_share": 0.2}
    places = FACT_SELECTORS["item_work"].places(measured(loader, plain_ms=[1] * 4, fetch_ms=[0.4] * 4))
    assert not isinstance(places, Missing)
    assert [(one.file, one.line) for one in places] == [place]
