"""The picture, worked out by hand. Timelines in µs; `test_graph.repeated` makes steps of them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.samples import SAMPLES, is_recorded
from diagnose.judge.findings import Finding, judge
from diagnose.judge.rules import load_rules
from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.measure.measured import Measured
from diagnose.measure.recording import FETCH_RECORD, Recording, load_recording
from diagnose.measure.sources import Sources
from diagnose.pipeline import Analysis
from diagnose.predict.on_average import Seldom
from diagnose.predict.plan import Assessed, assess
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.replay import Edit
from diagnose.report.timeline.timeline import AHEAD, FAILED, RECORDED, WAITS, picture, write_picture
from diagnose.trace.schema import Trace

from ..predict.test_bound import case
from ..predict.test_graph import GPU_BOUND, repeated
from ..predict.test_new_ledger import STEP
from ..predict.test_replay import kernels

SHARED = Path(__file__).parents[3] / "shared" / "traces"
RULES = load_rules()

Picture = dict[str, Any]


def picture_of(recording: Recording, *changes: Change) -> Picture:
    """With a plan of these changes, all of the same rule."""
    measured = Measured(recording)
    finding = Finding(RULES["input-wait-no-workers"], "fires")
    plan = [Assessed(finding, None, None, None, None, "plan", None, change=change) for change in changes]
    return picture(measured, Prediction(measured), plan, Sources(recording))


def of_trace(trace: Trace | None, *changes: Change) -> Picture:
    return picture_of(Recording(Path("trace.json"), timeline=trace), *changes)


def judged(recording: Recording) -> Picture:
    measured = Measured(recording)
    prediction = Prediction(measured)
    return picture(
        measured, prediction, assess(judge(RULES, measured), measured, prediction), Sources(recording)
    )


def us(version: Picture) -> dict[str, float]:
    return {row: pytest.approx(ms * 1000) for row, ms in version["ledger"].items() if ms > 1e-9}


def causes(one: Picture, version: int = 0) -> list[tuple[str, float, float]]:
    """Row, begin and end of each."""
    known = one["versions"][version]["causes"]
    return [
        (one["rows"][row]["row"], start, round(start + dur, 3))
        for row, start, dur in zip(known["row"], known["start"], known["dur"], strict=True)
    ]


def events(one: Picture, version: int = 0) -> list[tuple[str, int, str, float, float]]:
    """Lane, depth, name, begin and end of each."""
    known = one["versions"][version]["events"]
    columns = (known[column] for column in ("lane", "depth", "name", "start", "dur"))
    return [
        (one["lanes"][lane]["title"], depth, one["names"][name], start, round(start + dur, 3))
        for lane, depth, name, start, dur in zip(*columns, strict=True)
    ]


MAIN, GPU = "Training thread", "GPU 0, stream 7"
WORK = [  # what `STEP` does on the host below two annotations and an operator that `repeated` adds
    (MAIN, 2, "aten::mm", 0, 1),
    (MAIN, 3, "aten::mm", 0, 1),
    (MAIN, 2, "aten::mm", 10, 30),
    (MAIN, 3, "cudaLaunchKernel", 20, 25),
    (MAIN, 2, "aten::copy_", 60, 70),
    (MAIN, 3, "cudaMemcpyAsync", 62, 67),
]


@pytest.fixture
def step() -> Trace:
    return trace_from_text(repeated(STEP, 100, before=1))


def test_the_step_as_it_is(step: Trace) -> None:
    one = of_trace(step)
    (version,) = one["versions"]
    assert version["title"] == "As it is"
    assert version["replayed"] and version["note"] == "" and version["rules"] == []
    assert version["step_ms"] == pytest.approx(0.1)
    assert version["drawn_us"] == 100
    assert us(version) == {"compute": 30, "exposed_copies": 20, "launch_bound": 25, "python": 25}
    assert causes(one) == [
        ("launch_bound", 0, 1),
        ("python", 1, 10),
        ("launch_bound", 10, 26),
        ("compute", 26, 56),
        ("python", 56, 60),
        ("launch_bound", 60, 68),
        ("exposed_copies", 68, 88),
        ("python", 88, 100),
    ]
    assert one["lanes"] == [{"title": MAIN, "kind": "host"}, {"title": GPU, "kind": "stream"}]
    found = events(one)
    # train, ProfilerStep
    assert {(depth, begin, end) for _, depth, _, begin, end in found[:2]} == {(0, 0, 100), (1, 0, 100)}
    assert found[2:] == [*WORK, (GPU, 0, "a", 26, 56), (GPU, 0, "Memcpy DtoD (Device -> Device)", 68, 88)]
    assert version["left_out"] == {"count": 0, "shorter_than_us": 0.0}


def test_each_fix_on_top_of_those_before_it(step: Trace) -> None:
    # ends at 41; from there to 60 there is only Python
    halved = Change((Edit(events=kernels(step, "a"), event_ratio=0.5),))
    gone = Change((Edit(events=kernels(step, "a")),))
    one = of_trace(step, halved, gone)
    assert [version["title"] for version in one["versions"]] == ["As it is", "After fix 1", "After fixes 1–2"]
    assert us(one["versions"][1]) == {"compute": 15, "exposed_copies": 20, "launch_bound": 25, "python": 40}
    assert causes(one, 1)[3:5] == [("compute", 26, 41), ("python", 41, 60)]
    assert events(one, 1)[2:] == [
        *WORK,
        (GPU, 0, "a", 26, 41),
        (GPU, 0, "Memcpy DtoD (Device -> Device)", 68, 88),
    ]
    assert events(one, 2)[2:] == [*WORK, (GPU, 0, "Memcpy DtoD (Device -> Device)", 68, 88)]
    assert "compute" not in one["versions"][2]["ledger"]
    assert [version["rules"] for version in one["versions"]] == [
        [],
        ["input-wait-no-workers"],
        ["input-wait-no-workers"] * 2,
    ]


def test_fixes_that_cannot_be_replayed_are_passed_over(step: Trace) -> None:
    change = Change((Edit(events=kernels(step, "a"), event_ratio=0.5),))
    measured = Measured(Recording(Path("trace.json"), timeline=step))
    finding = Finding(RULES["input-wait-no-workers"], "fires")
    changes = [change, None, change, Change(seldom=Seldom("", 0.01, 0.01))]
    plan = [Assessed(finding, None, None, None, None, "plan", None, change=one) for one in changes]
    one = picture(measured, Prediction(measured), plan, Sources(measured.recording))
    assert [version["title"] for version in one["versions"]] == [
        "As it is",
        "After fix 1",
        "After fixes 1, 3",
    ]
    assert [finding["number"] for finding in one["findings"]] == [1, 2, 3, 4]


def test_at_most_eight_fixes(step: Trace) -> None:
    one = of_trace(step, *[Change((Edit(events=kernels(step, "a"), event_ratio=0.5),)) for _ in range(9)])
    assert one["versions"][-1]["title"] == "After fixes 1–8"


def test_a_host_that_runs_ahead_is_drawn_from_the_beginning_of_the_gpus_step() -> None:
    # The host needs 50, the GPU 98 and a gap of 2: its step goes from the end
    # of one kernel to the end of the next.
    one = of_trace(trace_from_text(repeated(GPU_BOUND, 50, gpu_every=100, before=1)))
    (version,) = one["versions"]
    assert version["note"] == AHEAD
    assert version["drawn_us"] == 100
    assert causes(one) == [("unattributed", 0, 2), ("compute", 2, 100)]
    assert {(begin, end) for _, _, _, begin, end in events(one)[:2]} == {(0, 50)}
    assert events(one)[2:] == [
        (MAIN, 2, "aten::mm", 0, 1),
        (MAIN, 2, "cudaLaunchKernel", 10, 15),
        (GPU, 0, "a", 2, 100),
    ]


def test_gpu_work_of_the_step_before_is_drawn_where_it_runs() -> None:
    # Launched at 90, it runs from 96 to 136: the first 36 of a step, in which the host needs 10
    # for its next operator, and the last 4.
    one = of_trace(
        trace_from_text(
            repeated("main 90 5 runtime cudaLaunchKernel =1\ngpu 96 40 kernel a =1", 100, before=1)
        )
    )
    assert [event[3:] for event in events(one) if event[0] == GPU] == [(0, 36), (96, 100)]


# ---- input


def test_the_wait_for_worker_processes_is_drawn_at_the_beginning() -> None:
    # 6 ms of loading, 4 of work, on two cores 5 together, and 0.3 of 4 beside each other
    one = judged(measured_case(case(2)).recording)
    before, after = one["versions"]
    assert us(before) == {"input_wait": 6000, "operators": 4000}
    assert causes(one) == [("input_wait", 0, 6000), ("operators", 6000, 10_000)]
    assert before["events"]["finding"] == [-1, 0, -1]
    assert us(after) == {"input_wait": 2200, "operators": 4000}
    assert causes(one, 1) == [("input_wait", 0, 2200), ("operators", 2200, 6200)]
    assert after["note"] == WAITS
    assert events(one, 1) == [
        (MAIN, 0, "waiting for a worker process", 0, 2200),
        (MAIN, 0, "ProfilerStep#1", 2200, 6200),
        (MAIN, 1, "aten::mm", 2200, 6200),
    ]
    assert [one["places"][place] for place in after["events"]["place"] if place >= 0] == ["/job/train.py:12"]
    assert one["findings"][0] == {
        "rule": "input-wait-no-workers",
        "number": 1,
        "title": "Load batches in worker processes",
    }
    assert (MAIN, 1, "next batch", 0, 6000) in events(one)


def with_fetches(*fetches: tuple[int, int, int, int]) -> Recording:
    """Three steps of 100 µs.

    The host's clock is 5 ms ahead of the trace's; a fetch is start, duration (µs on it), process, in a
    worker.
    """
    trace = trace_from_text(repeated("main 10 30 op aten::mm", 100))
    trace = replace(trace, step_source="mark", steps=trace.steps.assign(number=[1, 2, 3]))
    clock = {
        "phases": [
            {"name": "timeline", "first_tick": 0, "tick_ns": [5_000_000, 5_100_000, 5_200_000, 5_300_000]}
        ]
    }
    rows = np.array(
        [(start * 1000, dur * 1000, dur * 1000, 0, pid, in_worker) for start, dur, pid, in_worker in fetches],
        FETCH_RECORD,
    )
    return Recording(Path("run"), timeline=trace, clock=clock, fetches=pd.DataFrame(rows))


def test_fetches_of_worker_processes_have_lanes_of_their_own() -> None:
    # One a step: from 20 to 60, and by the other from 90 until 40 of the next.
    times = [
        (start + every, dur, pid, 1)
        for every in (0, 100, 200)
        for start, dur, pid in ((5020, 40, 71), (4990, 50, 70))
    ]
    one = picture_of(with_fetches(*times, (5000, 300, 72, 0)), Change((Edit(),)))
    assert [lane["title"] for lane in one["lanes"]] == [MAIN, "Loader worker 70", "Loader worker 71"]
    assert [event[2:] for event in events(one) if event[0] == "Loader worker 71"] == [
        ("fetching a batch", 20, 60)
    ]
    assert ("Loader worker 70", 0, "fetching a batch", 0, 40) in events(one)
    assert not [event for event in events(one, 1) if "worker" in event[0]]  # nobody knows when they would be


# ---- what is left of a picture


def test_without_a_complete_step_there_is_none() -> None:
    one = of_trace(None)
    assert one["versions"] == one["lanes"] == one["names"] == one["rows"] == []
    assert one["roofline"] is None


def test_gpu_events_alone_are_drawn_as_recorded() -> None:
    one = of_trace(
        trace_from_text(
            'gpu 0 30 kernel a {"repeat": 8, "every": 40}\ngpu 32 4 kernel b {"repeat": 8, "every": 40}'
        )
    )
    (version,) = one["versions"]
    assert not version["replayed"]
    assert version["note"] == RECORDED
    assert sum(version["ledger"].values()) == version["step_ms"]
    assert one["lanes"] == [{"title": GPU, "kind": "stream"}]


def test_a_failing_replay_leaves_the_recorded_step(step: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("diagnose.report.timeline.timeline.replayed", fails)
    one = of_trace(step)
    (version,) = one["versions"]
    assert version["note"] == f"{RECORDED} {FAILED.format(error='ValueError: no')}"
    assert version["drawn_us"] == 100
    assert events(one)[2:] == [
        *WORK,
        (GPU, 0, "a", 26, 56),
        (GPU, 0, "Memcpy DtoD (Device -> Device)", 68, 88),
    ]


def test_the_longest_events_are_kept(step: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnose.report.timeline.events.MOST_EVENTS", 5)
    one = of_trace(step)
    assert sorted(end - begin for *_, begin, end in events(one)) == [20, 20, 30, 100, 100]
    assert one["versions"][0]["left_out"] == {"count": 5, "shorter_than_us": 20}


def test_a_drawn_step_unlike_the_typical_one_is_said_to_be() -> None:
    text = """
    main 0   100 step ProfilerStep#1
    main 100 100 step ProfilerStep#2
    main 200 130 step ProfilerStep#3
    main 0   90  op   aten::mm {"repeat": 2, "every": 100}
    main 200 120 op   aten::mm
    """
    (version,) = of_trace(trace_from_text(text))["versions"]
    assert version["step_ms"] == pytest.approx(0.11)
    assert version["drawn_us"] == 100
    assert version["note"] == (
        "Drawn: one step of the steady-state replay, 0.100 ms; a typical step takes 0.110 ms."
    )


def test_a_step_far_from_the_others_is_not_of_the_typical_one() -> None:
    text = """
    main 0   100 step ProfilerStep#1
    main 100 100 step ProfilerStep#2
    main 200 400 step ProfilerStep#3
    main 0   90  op   aten::mm {"repeat": 2, "every": 100}
    main 200 390 op   aten::mm
    """
    document = Analysis(Measured(Recording(Path("trace.json"), timeline=trace_from_text(text)))).document
    steps = document.steps
    assert (steps.typical_ms, steps.untypical_count, steps.complete) == (0.1, 1, 3)
    assert steps.untypical_ms == pytest.approx(0.1)  # 600 of three are 200 on average
    assert sum(row.ms_per_step for row in document.ledger) == pytest.approx(0.1)


def test_a_single_step_unlike_a_steady_one_is_drawn_as_recorded() -> None:
    # The host needs 50 and the GPU 98, from 36 to 134. Steps that follow each other would take 98 and a gap.
    text = """
    main 0  50 step    ProfilerStep#1
    main 0  45 op      aten::mm
    main 30 5  runtime cudaLaunchKernel {"correlation": 1}
    gpu  36 98 kernel  a {"correlation": 1}
    """
    one = of_trace(trace_from_text(text))
    (version,) = one["versions"]
    assert version["drawn_us"] == 134
    assert version["step_ms"] == pytest.approx(0.134)


def test_python_frames_are_drawn_only_where_there_is_nothing_else() -> None:
    text = "main 0 100 step ProfilerStep#1\nmain 0 90 op aten::mm\nmain 0 95 python train.py(3): main"
    assert [event[2] for event in events(of_trace(trace_from_text(text)))] == ["ProfilerStep#1", "aten::mm"]


def test_names_are_one_visible_line_of_bounded_length() -> None:
    trace = trace_from_text("main 0 100 step ProfilerStep#1\nmain 0 90 op " + "\u202e<script>" + "x" * 300)
    name = of_trace(trace)["names"][-1]
    assert name.startswith("\N{REPLACEMENT CHARACTER}<script>xxx")
    assert len(name) == 200


def test_other_threads_come_after_the_training_thread_by_the_traces_own_names() -> None:
    text = (
        "auto 40 45 op autograd::engine::evaluate_function: MmBackward0\nauto 50 5 runtime "
        "cudaLaunchKernel =1\ngpu 56 30 kernel b =1"
    )
    one = of_trace(trace_from_text(repeated(text, 120, before=1)))
    assert [lane["title"] for lane in one["lanes"]] == [MAIN, f"Thread {100 + sum(map(ord, 'auto'))}", GPU]
    assert (one["lanes"][1]["title"], 1, "cudaLaunchKernel", 50, 55) in events(one)


# ---- memory and roofline


def test_memory_of_the_gpu_before_that_of_the_process() -> None:
    timeline = "main 0 10000 step ProfilerStep#1\nmain 0 4000 op aten::mm"
    facts = {"rss_series_bytes": [5, 6, 7], "allocated_series_bytes": None}
    given = {"timeline": timeline, "facts": facts, "plain_ms": [10] * 6}  # every second of six steps
    (series,) = picture_of(measured_case(given).recording)["memory"]
    assert series == {
        "title": "Memory of the process (resident)",
        "x_title": "step",
        "x": [2, 4, 6],
        "bytes": [5, 6, 7],
    }
    facts["allocated_series_bytes"] = [1, 2, 3, 4, 5, 6]  # type: ignore[assignment]
    (series,) = picture_of(measured_case(given).recording)["memory"]
    assert (series["title"], series["x"]) == ("GPU memory allocated", [1, 2, 3, 4, 5, 6])
    facts.update({"allocated_series_bytes": [1, 2], "memory_series_steps": [1, 5]})  # type: ignore[dict-item]
    (series,) = picture_of(measured_case(given).recording)["memory"]
    assert series["x"] == [1, 5]


def test_a_matrix_product_below_the_roofline() -> None:
    # 64x32 times 32x16: 2 * 64 * 32 * 16 = 65,536 FLOP, (2048 + 512 + 1024) * 4 = 14,336 bytes, in 8 + 2 µs.
    text = """
    main 0  100 step    ProfilerStep#1 {"repeat": 2, "every": 100}
    main 10 30  op      aten::mm {"repeat": 2, "every": 100, "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}
    main 20 5   runtime cudaLaunchKernel {"repeat": 2, "every": 100, "correlation": 1}
    main 30 5   runtime cudaLaunchKernel {"repeat": 2, "every": 100, "correlation": 11}
    gpu  30 8   kernel  ampere_sgemm {"repeat": 2, "every": 100, "correlation": 1}
    gpu  40 2   kernel  splitKreduce {"repeat": 2, "every": 100, "correlation": 11}
    """
    info = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]}
    known = of_trace(trace_from_text(text, info))["roofline"]
    assert known["gpu"] == "NVIDIA A100-SXM4-40GB"
    (kernel,) = known["kernels"]
    assert (kernel["name"], kernel["format"], kernel["place"]) == ("ampere_sgemm", "fp32", None)
    assert kernel["flop_per_byte"] == pytest.approx(65_536 / 14_336)
    assert kernel["flop_per_s"] == pytest.approx(65_536 / 10e-6)
    assert kernel["ms_per_step"] == pytest.approx(0.01)
    assert of_trace(trace_from_text(text))["roofline"] is None


# ---- the file, and recordings


def test_a_picture_is_read_as_it_was_written(step: Trace, tmp_path: Path) -> None:
    one = of_trace(step)
    for name in ("a", "b"):
        write_picture(one, tmp_path / name)
    assert json.loads(gzip.decompress((tmp_path / "a").read_bytes())) == one
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def check(one: Picture) -> None:
    """What holds of every picture."""
    for version in one["versions"]:
        drawn = version["drawn_us"]
        assert sum(version["ledger"].values()) == pytest.approx(version["step_ms"])
        ends = np.cumsum(version["causes"]["dur"])
        assert version["causes"]["start"] == pytest.approx([0, *ends[:-1]], abs=0.1)
        assert ends[-1] == pytest.approx(drawn, abs=0.1)
        columns = version["events"]
        begin, dur = np.array(columns["start"]), np.array(columns["dur"])
        assert len({len(column) for column in columns.values()}) == 1
        assert begin.min() >= 0 and (begin + dur).max() <= drawn + 0.002 and dur.min() >= 0
        on_host = np.array([lane["kind"] == "host" for lane in one["lanes"]])[columns["lane"]]
        rows = np.array(columns["lane"]) * 1000 + np.array(columns["depth"])
        order = np.lexsort((begin, rows))
        follows = (rows[order][1:] == rows[order][:-1]) & on_host[order][1:]
        assert (begin[order][1:] >= (begin + dur)[order][:-1] - 0.002)[follows].all()
        for column, texts in (("name", one["names"]), ("place", one["places"]), ("finding", one["findings"])):
            assert max(columns[column]) < len(texts)
        assert min(columns["name"]) >= 0


BUNDLED = (
    "input-wait/sick",
    "few-workers/sick",
    "threads/sick",
    "recompiles/sick",
    "epoch-start/sick",
    "healthy/gan",
)


@pytest.mark.parametrize(
    "sample", [one for one in SAMPLES if is_recorded(one.run) and str(one) in BUNDLED], ids=str
)
def test_bundled_recordings(sample: Any) -> None:
    check(judged(load_recording(sample.run)))


@pytest.mark.skipif(not SHARED.is_dir(), reason="no folder with traces that others recorded")
@pytest.mark.parametrize(
    "name", ["kineto-rn50-w0-v2", "hta-diff-test", "tl-mi300-ddp-rn18", "tl-b300-qwen30b", "param-dlrm-r4"]
)
def test_traces_of_others(name: str) -> None:
    check(judged(load_recording(SHARED / f"{name}.json.gz")))
