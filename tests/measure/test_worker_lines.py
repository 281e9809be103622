"""What the workers of a loader are at, by looks at them: steps of 1 ms with a wait of 0.6, by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from diagnose.document.text import count
from diagnose.judge.culprits import culprits
from diagnose.judge.timelines import measured_case
from diagnose.measure.account import account
from diagnose.measure.measured import FACT_SELECTORS, Measured
from diagnose.measure.missing import NO_COUNT, Missing
from diagnose.measure.worker_lines import COLUMNS, read_worker_lines

LOOKS = """
50 30 numpy/lib/_function_base_impl.py: median
40 -1 PIL/Image.py: resize
10 31
"""


def measured(looks: str = LOOKS, **changes: Any) -> Measured:
    facts = {"cpu_core_count": 8, "loaders": [{"num_workers": 2, "dataset_length": 100}]}
    timeline = """
main  0    1000  step  ProfilerStep#1
main  0    600   mark  next@12
main  600  400   op    aten::mm
"""
    return measured_case(
        {"plain_ms": [1, 1], "fetch_ms": [2, 2], "facts": facts, "timeline": timeline, "worker_lines": looks}
        | changes
    )


def places(of: Measured, selector: str) -> list[tuple[str, int, float]]:
    found = FACT_SELECTORS[selector].places(of)
    assert not isinstance(found, Missing)
    return [(place.file, place.line, pytest.approx(place.ms_per_step)) for place in found]  # type: ignore[misc]


def test_workers_that_load_all_the_time_hold_up_the_whole_step() -> None:
    # Half of a fetch less is half of the step, of which the wait is 0.6.
    assert places(measured(), "slow_item_line") == [("/job/data.py", 30, 0.5)]


def test_no_more_than_the_wait_is_saved() -> None:
    assert places(measured("70 30 numpy/lib/x.py: median"), "slow_item_line") == [("/job/data.py", 30, 0.6)]


def test_the_wait_for_workers_that_keep_up_is_the_hand_over() -> None:
    # They load for 1 of 2 ms.
    assert places(measured(fetch_ms=[1, 1]), "slow_item_line") == [("/job/data.py", 30, 0.0)]
    assert places(measured(fetch_ms=[1, 1]), "loading_work")[-1] == ("/job/train.py", 12, 0.6)


def test_workers_that_keep_up_are_late_with_slow_batches() -> None:
    # One of ten takes 4 ms longer, and its step as well; half of that is the line's.
    bursts = measured(plain_ms=[1] * 9 + [5], fetch_ms=[0.5] * 9 + [4.5])
    assert places(bursts, "slow_item_line") == [("/job/data.py", 30, 0.2)]


def test_lines_that_decode_files_are_told_apart_from_the_others() -> None:
    looks = "45 30 numpy/lib/_function_base_impl.py: median\n40 31 PIL/Image.py: convert\n15 -1"
    assert places(measured(looks), "slow_item_line") == [("/job/data.py", 30, 0.45)]
    assert places(measured(looks), "sample_reads") == [("/job/data.py", 31, 0.4)]


def test_the_loop_has_what_no_line_of_the_data_set_explains() -> None:
    assert places(measured(), "loading_work") == [
        ("/job/data.py", 30, 0.3),
        ("/job/data.py", 31, 0.06),
        ("/job/train.py", 12, 0.24),
    ]


def test_many_small_lines_are_told_where_the_data_set_makes_a_sample() -> None:
    """Two lines take a fifth of the fetches each, none of them much."""
    made = {"file": "/job/data.py", "line": 18, "function": "__getitem__"}
    facts = {"cpu_core_count": 8, "loaders": [{"num_workers": 2, "dataset_length": 100, "sample_made": made}]}
    looks = "20 30 numpy/lib/x.py: median\n20 31 numpy/lib/x.py: clip\n60 -1 PIL/Image.py: resize"
    assert places(measured(looks, facts=facts), "loading_work") == [
        ("/job/data.py", 18, 0.24),
        ("/job/train.py", 12, 0.36),
    ]
    assert places(measured(looks), "loading_work")[:2] == [
        ("/job/data.py", 30, 0.12),
        ("/job/data.py", 31, 0.12),
    ]


def test_workers_that_take_cores_are_told_by_all_their_lines() -> None:
    """The cores that they take are 0.5 of the step of 1 ms; the lines known are 60 of 100 looks."""
    one = measured()
    one._values["cores_taken_share"] = 0.5
    assert places(one, "worker_loading") == [
        ("/job/data.py", 30, 0.5 * 50 / 60),
        ("/job/data.py", 31, 0.5 * 10 / 60),
    ]
    # how often they run looks do not tell
    assert one.metric("worker_loading_count_per_step") == NO_COUNT
    told = culprits(one, FACT_SELECTORS["worker_loading"], 0.5)
    assert [count(culprit.calls_per_step) for culprit in told] == ["–", "–"]


def test_what_workers_do_is_told_by_line_or_by_what_libraries_do() -> None:
    told = measured().metric("worker_work")
    assert told == "`/job/data.py:30` (50 %), `PIL: resize` (40 %), `/job/data.py:31` (10 %)"


def test_few_looks_tell_nothing() -> None:
    few = measured("29 30 numpy/lib/x.py: median")
    assert isinstance(few.metric("worker_work"), Missing)
    assert isinstance(few.metric("slow_item_callee"), Missing)


def test_looks_in_plain_steps_count_if_there_are_enough() -> None:
    of_plain = measured().recording.worker_lines
    warming = of_plain.assign(line=99, until_ns=of_plain["until_ns"] + 1_000_000_000)
    both = pd.concat([warming, of_plain])
    recording = replace(measured().recording, worker_lines=both)
    assert places(Measured(recording), "slow_item_line")[0][1] == 30


def test_half_a_line_of_a_killed_worker_is_dropped(tmp_path: Path) -> None:
    told = {"pid": 7, "until_ns": 5, "lines": [["/job/data.py", 30, "__getitem__", "numpy: median", 3]]}
    path = tmp_path / "worker_lines.jsonl"
    path.write_text(json.dumps(told) + "\n" + json.dumps(told)[:20])
    assert read_worker_lines(path).to_numpy().tolist() == [
        [5, "/job/data.py", 30, "__getitem__", "numpy: median", 3]
    ]
    assert list(read_worker_lines(tmp_path / "none").columns) == COLUMNS


@pytest.mark.parametrize(
    ("fetch_ms", "lines"),
    [(2, [30, 12, 31]), (1, [12])],
    ids=["workers that load all the time", "half of it"],
)
def test_the_wait_is_told_by_the_lines_of_workers_that_cannot_keep_up(
    fetch_ms: float, lines: list[int]
) -> None:
    """A half, a tenth, and the loop with what libraries do for the rest."""
    rows = {row.row: row for row in account(measured(fetch_ms=[fetch_ms] * 2))}
    assert [spender.name.line for spender in rows["input_wait"].spenders] == lines
