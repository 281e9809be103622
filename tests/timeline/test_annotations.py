"""Our events line up with the recorded ones to the nanosecond, nest, and
their arrows land where they should.
"""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording
from diagnose.pipeline import Analysis
from diagnose.report.timeline.annotations import FIRST_PID, annotation_events
from diagnose.report.timeline.arrows import longest
from diagnose.trace.reader import read_trace
from tests.timeline.viewer import Slice, seen, thread_names
from tests.trace.build import Json, encoded, event, kernel, launch


def measured(*events: Json, **top: Any) -> Measured:
    return Measured(Recording(Path("a.json"), timeline=read_trace(io.BytesIO(encoded(*events, **top)))))


def annotated(of: Measured) -> list[Json]:
    analysis = Analysis(of)
    return annotation_events(of, analysis._assessed, analysis.document)


def two_steps(first_us: float = 0.0, tid: Any = 11, pid: Any = 22) -> list[Json]:
    """Two steps of 1 ms: 600 µs of waiting for a batch, a launch, a kernel from 700 µs on that takes 290
    µs.
    """
    events = []
    for step, begin in enumerate((first_us, first_us + 1000)):
        events += [
            event(f"ProfilerStep#{3 + step}", begin, 1000, "user_annotation", tid, pid),
            event(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                begin,
                600,
                "user_annotation",
                tid,
                pid,
            ),
            event("aten::mm", begin + 610, 40, "cpu_op", tid, pid),
            {**launch(begin + 620, 20, 5 + step, tid=tid), "pid": pid},
            kernel("gemm", begin + 700, 290, 5 + step),
        ]
    return events


def on(events: list[Json], start_of_name: str) -> list[Slice]:
    """The slices of the one track of ours whose name begins so."""
    (track,) = [
        track for name, track in thread_names(events, FIRST_PID).items() if name.startswith(start_of_name)
    ]
    return seen(events).tracks[track]


def test_steps_ledger_and_findings_are_tracks_of_one_process_above_all_others() -> None:
    events = annotated(measured(*two_steps()))
    names = list(thread_names(events, FIRST_PID))
    assert names[:2] == ["Steps, as recorded", "Where the time goes (GPU 0)"]
    assert "1. Load batches in worker processes" in names
    assert on(events, "Steps") == [Slice("step 3: 1.00 ms", 0, 1000), Slice("step 4: 1.00 ms", 1000, 2000)]  # type: ignore[arg-type]
    assert [(one.name, one.start_us, one.end_us) for one in on(events, "Where")][:2] == [
        ("Input wait", 0, 600),
        ("Python", 600, 610),
    ]
    assert [(one.start_us, one.end_us) for one in on(events, "1.")] == [(0, 600), (1000, 1600)]
    orders = [one["args"]["sort_index"] for one in events if one["name"] == "process_sort_index"]
    assert orders == [-100]


def test_the_ledger_covers_the_steps_without_gaps() -> None:
    slices = on(annotated(measured(*two_steps())), "Where")
    assert min(one.start_us for one in slices) == 0
    assert sum(one.end_us - one.start_us for one in slices) == 2000


@pytest.mark.parametrize("first", [0.0, 5000.5, 4_000_000_000.125])
def test_times_are_those_of_the_file_whatever_its_base(first: float) -> None:
    of = measured(*two_steps(first), baseTimeNanoseconds=1_700_000_000_000_000_000)
    assert on(annotated(of), "Steps")[0].start_us == Decimal(str(first))


def test_times_since_1970_keep_their_last_digit() -> None:
    text = encoded(*two_steps()).decode()
    late = text.replace('"ts": 0.0', '"ts": 1700000000000000.377').replace(
        '"ts": 1000.0', '"ts": 1700000000001000.377'
    )
    for offset in (610, 620, 700, 1610, 1620, 1700):
        late = late.replace(f'"ts": {offset}.0', f'"ts": {1_700_000_000_000_000 + offset}.377')
    of = Measured(Recording(Path("a.json"), timeline=read_trace(io.BytesIO(late.encode()))))
    assert on(annotated(of), "Steps")[1] == Slice(
        "step 4: 1.00 ms", Decimal("1700000000001000.377"), Decimal("1700000000002000.377")
    )


def test_arrows_lead_to_the_wait_and_from_it_to_the_kernel_that_had_to_wait() -> None:
    recorded = two_steps()
    ours = annotated(measured(*recorded))
    shown = seen([*ours, *recorded], FIRST_PID)
    wait = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert shown.faults == []
    assert shown.arrows.count(("Load batches in worker processes", wait)) == 2
    # The second gap runs from 990 to 1700 µs: the wait's 600 µs are most of it. So are
    # they of the first, from 0 to 700 µs.
    assert shown.arrows.count((wait, "gemm")) == 2


@pytest.mark.parametrize(("pid", "tid"), [(22, "thread 7"), ("python", 7), (0, 0)])
def test_arrows_end_on_tracks_as_the_file_writes_them(pid: Any, tid: Any) -> None:
    recorded = two_steps(pid=pid, tid=tid)
    shown = seen([*annotated(measured(*recorded)), *recorded], FIRST_PID)
    assert shown.faults == []
    assert len(shown.arrows) >= 4


def test_a_process_number_that_is_taken_is_passed_over() -> None:
    recorded = two_steps(pid=FIRST_PID)
    assert {one["pid"] for one in annotated(measured(*recorded)) if one["ph"] == "X"} == {FIRST_PID + 1}


def test_an_event_of_no_length_holds_no_arrow() -> None:
    recorded = [one if one["cat"] != "kernel" else {**one, "dur": 0} for one in two_steps()]
    assert seen([*annotated(measured(*recorded)), *recorded], FIRST_PID).faults == []


def test_two_tracks_that_claim_one_stream_get_no_arrow() -> None:
    recorded = two_steps()
    recorded[-1] |= {"tid": "stream 7 again"}
    shown = seen([*annotated(measured(*recorded)), *recorded], FIRST_PID)
    assert shown.faults == []
    assert not [arrow for arrow in shown.arrows if arrow[1] == "gemm"]


def test_a_finding_says_what_is_wrong_and_where() -> None:
    events = annotated(measured(*two_steps()))
    slices = [one for one in events if one["ph"] == "X" and one["name"] == "Load batches in worker processes"]
    args = slices[0]["args"]
    assert args["rule"].startswith("input-wait")
    assert {"symptom", "how", "takes per step"} <= set(args)
    assert args["takes per step"] == "0.600 ms"


def test_without_steps_there_is_nothing_to_show() -> None:
    empty = Measured(Recording(Path("a.json"), timeline=None))
    assert annotated(empty) == []


def test_hostile_names_stay_one_line_of_text() -> None:
    name = 'diagnose::next|/job/"];alert(1)\u202e\u0007\\.py|41|main'
    recorded = [{**one, "name": name} if "DataLoader" in one["name"] else one for one in two_steps()]
    events = annotated(measured(*recorded))
    (title,) = [name for name in thread_names(events, FIRST_PID) if name.startswith("1.")]
    assert title.endswith('/job/"];alert(1)��\\.py:41')
    assert json.loads(json.dumps(events, default=float))


def test_the_longest_keep_their_order() -> None:
    import numpy as np

    spans = np.array([[0, 5], [10, 12], [20, 29], [30, 31]])
    assert longest(spans, 2).tolist() == [0, 2]
