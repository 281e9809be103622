"""The ledger with changes made, worked out by hand.

Timelines in µs; `test_graph.repeated` makes steps of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.samples import SAMPLES, is_recorded
from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording, load_recording
from diagnose.predict.new_ledger import changed_ledger, ledger_after, replayed, replayed_with
from diagnose.predict.on_average import Seldom
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.replay import ROUNDS, Edit
from diagnose.trace.schema import Trace

from .test_bound import case
from .test_graph import (
    BACKWARD,
    BLOCKING_COPY,
    DEVICE_SYNC,
    GPU_BOUND,
    HOST_BOUND,
    ITEM,
    TWO_STREAMS,
    repeated,
)
from .test_replay import calls, each, kernels, random_edit, random_timeline

SHARED = Path(__file__).parents[3] / "shared" / "traces"
# Of the step of 100 the GPU computes from 26 to 56 and copies from 68 to 88. Of the 50 that it idles
# operators run from 0 to 1, 10 to 26 and 60 to 68, and nothing but Python in the other 25.
STEP = """
main 0  1  op      aten::mm
main 10 20 op      aten::mm
main 20 5  runtime cudaLaunchKernel                 =1
gpu  26 30 kernel  a                                =1
main 60 10 op      aten::copy_
main 62 5  runtime cudaMemcpyAsync                  =2
gpu  68 20 memcpy  Memcpy DtoD (Device -> Device)   =2
"""


def predicted(trace: Trace) -> Prediction:
    return Prediction(Measured(Recording(Path("trace.json"), timeline=trace)))


def us(rows_ms: dict[str, float]) -> dict[str, float]:
    """Those that take any time."""
    return {row: pytest.approx(ms * 1000) for row, ms in rows_ms.items() if ms > 1e-9}


def after(prediction: Prediction, *edits: Edit) -> dict[str, float]:
    return us(ledger_after(prediction, [Change(edits)]))


@pytest.fixture
def step() -> Prediction:
    return predicted(trace_from_text(repeated(STEP, 100, before=1)))


def python(prediction: Prediction) -> Edit:
    """All the Python of `STEP` gone: 1-10, 56-60 and 88-100."""
    times = np.concatenate([each(1, 10, 100), each(56, 60, 100), each(88, 100, 100)])
    return Edit(host=times, lane=prediction.measured.recording.timeline.training_thread)  # type: ignore[union-attr]


def test_nothing_changed(step: Prediction) -> None:
    assert after(step) == {"compute": 30, "exposed_copies": 20, "launch_bound": 25, "python": 25}


def test_host_work_that_is_gone_leaves_its_row_only(step: Prediction) -> None:
    assert after(step, python(step)) == {"compute": 30, "exposed_copies": 20, "launch_bound": 25}


def test_a_faster_kernel_behind_a_slow_host_leaves_the_gpu_idle(step: Prediction) -> None:
    # It ends at 41; from there to 56 there is only Python.
    edit = Edit(events=kernels(step.measured.recording.timeline, "a"), event_ratio=0.5)  # type: ignore[arg-type]
    assert after(step, edit) == {"compute": 15, "exposed_copies": 20, "launch_bound": 25, "python": 40}


def test_what_a_copy_hid_comes_to_light(step: Prediction) -> None:
    # The operator runs on from 68 to 70, the next 18 are Python.
    copies = np.flatnonzero(step.measured.recording.timeline.device["kind"] == "memcpy")  # type: ignore[union-attr]
    assert after(step, Edit(events=copies)) == {"compute": 30, "launch_bound": 27, "python": 43}


def test_without_any_gpu_event_it_is_still_the_ledger_of_the_gpu(step: Prediction) -> None:
    # The operators take 1, 20 and 10, Python the rest.
    edit = Edit(events=kernels(step.measured.recording.timeline))  # type: ignore[arg-type]
    assert after(step, edit) == {"launch_bound": 31, "python": 69}


def test_what_is_gone_is_not_queued() -> None:
    # A kernel starts 1 after its launch call; without kernels that is Python's time.
    trace = trace_from_text(repeated(HOST_BOUND, 100, before=1))
    then_ms = replayed(predicted(trace), [Change((Edit(events=kernels(trace)),))]).rows_ms
    assert us(then_ms) == {"launch_bound": 11, "python": 89}


def test_a_call_that_no_longer_waits_is_no_sync() -> None:
    # The GPU is done at 46. The call keeps its 5; 0-1 and 10-15 come after a wait, but
    # of the first step nobody knows that.
    text = """
    main 10 5  runtime cudaLaunchKernel      =1
    gpu  16 30 kernel  a                     =1
    main 60 5  runtime cudaStreamSynchronize
    """
    trace = trace_from_text(repeated(text, 100, before=1))
    prediction = predicted(trace)
    waits = Change((Edit(unblocked=calls(trace, "cudaStreamSynchronize")),))
    now_ms = replayed(prediction).rows_ms
    assert now_ms["host_sync"] * 1000 > 5
    assert (now_ms["host_sync"] + now_ms["launch_bound"]) * 1000 == pytest.approx(11)
    assert us(replayed(prediction, [waits]).rows_ms) == {
        "compute": 30,
        "launch_bound": 11,
        "python": 58,
        "unattributed": 1,
    }


def test_a_row_of_a_single_replayed_step_is_that_of_the_mean_step(monkeypatch: pytest.MonkeyPatch) -> None:
    # Operators take 10, 40 and 10 of steps of 100, 20 on average. One step is replayed: without them 80 of
    # Python are left, whichever it is.
    monkeypatch.setattr("diagnose.predict.prediction.MOST_EVENTS", 1)
    text = """
    main 0   100 step ProfilerStep#1 {"repeat": 3, "every": 100}
    main 0   10  op   aten::mm       {"repeat": 3, "every": 100}
    main 100 40  op   aten::add
    """
    prediction = predicted(trace_from_text(text))
    lane = prediction.measured.recording.timeline.training_thread  # type: ignore[union-attr]
    assert after(prediction) == {"operators": 20, "python": 80}
    operators = np.array([[0, 10_000], [100_000, 140_000], [200_000, 210_000]])
    assert after(prediction, Edit(host=operators, lane=lane)) == {"python": 80}


def test_rows_that_would_be_negative_are_nothing() -> None:
    prediction = predicted(trace_from_text(repeated(STEP, 100, before=1)))
    now = replayed(prediction)
    less = {**now.rows_ms, "python": now.rows_ms["python"] - 2 * prediction.measured.row_ms("python")}
    rows_ms = changed_ledger(prediction, now, replace(now, rows_ms=less), [])
    assert rows_ms["python"] == 0
    assert sum(rows_ms.values()) == pytest.approx(sum(less.values()))


def test_steps_that_run_ahead_of_the_gpu_have_the_rows_of_steady_ones() -> None:
    # The host needs 50, the GPU 98 and a gap of 2.
    prediction = predicted(trace_from_text(repeated(GPU_BOUND, 50, gpu_every=100, before=1)))
    assert prediction.recorded_ms == pytest.approx(0.1)
    assert us(ledger_after(prediction)) == {"compute": 98, "unattributed": 2}


def test_what_happens_inside_a_wait_is_stretched_with_it() -> None:
    # The call waits from 35 (its own 5) to 90. With kernels half as long the last one ends at 51,
    # so it returns at 55: 20, and were 55.
    trace = trace_from_text(repeated(DEVICE_SYNC + "main 46 11 op aten::add", 100, before=1))
    prediction = predicted(trace)
    halved = [Edit(events=kernels(trace), event_ratio=0.5)]
    host = replayed_with(prediction, halved, prediction.recorded_ms).view.host
    inside = host[host["name"] == "aten::add"]
    begin_ns = host[host["name"] == "cudaDeviceSynchronize"]["start_ns"].to_numpy()
    assert (inside["start_ns"].to_numpy() - begin_ns).tolist() == [9000] * 3 * ROUNDS  # 5 + 11 * 20 / 55
    assert inside["dur_ns"].tolist() == [4000] * 3 * ROUNDS


def test_what_only_some_steps_take_is_taken_from_all_rows(step: Prediction) -> None:
    assert us(ledger_after(step, [Change(seldom=Seldom("", 0.02, 0.02))])) == {
        "compute": 24,
        "exposed_copies": 16,
        "launch_bound": 20,
        "python": 20,
    }


def test_the_training_thread_alone() -> None:
    prediction = predicted(trace_from_text(repeated("main 0 1 op aten::mm\nmain 10 30 op aten::mm", 100)))
    lane = prediction.measured.recording.timeline.training_thread  # type: ignore[union-attr]
    assert after(prediction) == {"operators": 31, "python": 69}
    assert after(prediction, Edit(host=each(20, 60, 100), lane=lane, host_ratio=0.5)) == {
        "operators": 21,
        "python": 59,
    }


def test_a_step_of_nothing() -> None:
    prediction = predicted(trace_from_text(repeated("main 0 1 op aten::mm\nmain 10 30 op aten::mm", 100)))
    everything = Edit(host=each(0, 100, 100), lane=prediction.measured.recording.timeline.training_thread)  # type: ignore[union-attr]
    assert after(prediction, everything) == {}


@pytest.mark.parametrize(
    ("cores", "rows"),
    [
        (8, {"operators": 4000}),  # three workers hide it all
        # all the work on two cores: 10 ms / 2, and 0.3 of 4 ms beside each other
        (2, {"operators": 4000, "input_wait": 2200}),
    ],
)
def test_workers_leave_the_wait_that_they_cannot_hide(cores: int, rows: dict[str, float]) -> None:
    prediction = Prediction(measured_case(case(cores)))
    assert us(ledger_after(prediction, [Change(workers=3)])) == pytest.approx(rows, abs=1)


@pytest.mark.parametrize("text", [HOST_BOUND, TWO_STREAMS, BACKWARD, BLOCKING_COPY, ITEM, DEVICE_SYNC, STEP])
def test_the_replay_of_steps_like_each_other_has_the_ledger_of_the_recording(text: str) -> None:
    # But for the first step: what follows a wait before it counts as launch-bound, not as host sync.
    every = {BLOCKING_COPY: 200, TWO_STREAMS: 120, BACKWARD: 120}.get(text, 100)
    prediction = predicted(trace_from_text(repeated(text, every, before=1)))
    assert replayed(prediction).rows_ms == pytest.approx(recorded(prediction), abs=0.025 * every / 1000)


@pytest.mark.parametrize("seed", range(30))
def test_the_rows_add_up_to_the_step_whatever_is_changed(seed: int) -> None:
    rng, trace = random.Random(seed), trace_from_text(random_timeline(seed))
    prediction = predicted(trace)
    begin_ns, end_ns = (int(at) for at in trace.complete_steps[[0, -1], [0, 1]])
    changes = [Change((random_edit(rng, trace, begin_ns, end_ns),)) for _ in range(2)]
    rows_ms = ledger_after(prediction, changes)
    assert min(rows_ms.values()) >= 0
    assert sum(rows_ms.values()) == pytest.approx(prediction.step_ms(changes))


# ---- recordings


def recorded(prediction: Prediction, names: Iterable[str] = ()) -> dict[str, float]:
    ledger = prediction.measured.ledger
    assert ledger is not None
    return {row: prediction.measured.row_ms(row) for row in names or replayed(prediction).rows_ms}


def largest_difference(prediction: Prediction) -> float:
    """Between the recorded ledger and the one with no change, share of the step."""
    rows_ms = ledger_after(prediction)
    recorded_ms = recorded(prediction, rows_ms)
    return max(abs(rows_ms[row] - recorded_ms[row]) for row in rows_ms) / prediction.measured.number(
        "step_ms"
    )


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if is_recorded(sample.run)], ids=str)
def test_a_bundled_recording_unchanged_has_its_own_ledger(sample) -> None:
    prediction = Prediction(Measured(load_recording(sample.run)))
    if prediction.missing is not None:
        pytest.skip(prediction.missing.reason)
    step_ms = prediction.measured.number("step_ms")
    assert largest_difference(prediction) <= 0.01 + abs(prediction.recorded_ms - step_ms) / step_ms


def test_a_simulated_wait_that_falls_short_of_the_recorded_one_changes_no_other_row() -> None:
    run = next(sample.run for sample in SAMPLES if str(sample) == "few-workers/sick")
    prediction = Prediction(Measured(load_recording(run)))
    rows_ms = ledger_after(prediction)
    others = [row for row in rows_ms if row != "input_wait"]
    assert {row: rows_ms[row] for row in others} == pytest.approx(recorded(prediction, others))


@pytest.mark.skipif(not SHARED.is_dir(), reason="no folder with traces that others recorded")
@pytest.mark.parametrize("name", ["kineto-rn50-w0-v2", "tl-sd35", "hta-dfindex-v100"])
def test_a_trace_of_others_unchanged_has_its_own_ledger(name: str) -> None:
    assert largest_difference(Prediction(Measured(load_recording(SHARED / f"{name}.json.gz")))) <= 0.01


def test_the_replayed_events_lie_in_each_other_as_the_recorded_ones(step: Prediction) -> None:
    """Each round has its own: what is around an event is an event of the same round that encloses it."""
    host = replayed(step).view.host
    start, end = host["start_ns"].to_numpy(), (host["start_ns"] + host["dur_ns"]).to_numpy()
    parent = host["parent"].to_numpy()
    inside = np.flatnonzero(parent >= 0)
    assert len(inside)
    assert (start[parent[inside]] <= start[inside]).all() and (end[inside] <= end[parent[inside]]).all()
