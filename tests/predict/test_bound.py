"""Upper bounds of savings, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from diagnose.judge.findings import finding
from diagnose.judge.rules import load_rules
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured
from diagnose.measure.recording import FETCH_RECORD
from diagnose.predict.bound import at_most_ms

RULES = load_rules()
WAITS_FOR_INPUT = """
main  0    10000  step  ProfilerStep#1
main  0    6000   mark  next@12
main  6000 4000   op    aten::mm
"""


def case(cores: int) -> dict:
    """A step of 10 ms: 6 ms fetch in the main process, 4 ms of the rest."""
    facts = {"cpu_core_count": cores, "loaders": [{"num_workers": 0, "dataset_length": 100}]}
    return {"timeline": WAITS_FOR_INPUT, "facts": facts, "plain_ms": [10, 10, 10], "fetch_ms": [6, 6, 6]}


@pytest.mark.parametrize(
    ("cores", "saving_ms"),
    [
        (8, 6.0),  # three workers: 2 ms a batch, hidden behind the 4 ms
        (2, 5.0),  # all the work on two cores: 10 ms / 2
        (1, 0.0),  # one core only takes turns
    ],
)
def test_overlap_is_bounded_by_the_rest_the_workers_and_the_cores(cores: int, saving_ms: float) -> None:
    measured = measured_case(case(cores))
    assert at_most_ms(finding(RULES["input-wait-no-workers"], measured), measured) == pytest.approx(saving_ms)


def test_without_facts_the_wait_itself_is_the_bound() -> None:
    foreign = WAITS_FOR_INPUT.replace(
        "mark  next@12", "annotation  enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    )
    measured = measured_case({"timeline": foreign})
    assert at_most_ms(finding(RULES["input-wait-no-workers"], measured), measured) == pytest.approx(6.0)


def test_at_most_is_what_the_best_outcome_leaves() -> None:
    text = """
    main  0    1000  step     ProfilerStep#1
    main  0    30    op       aten::mm  {"Input Dims": [[64, 64]], "Input type": ["float"]}
    main  5    10    runtime  cudaLaunchKernel  {"correlation": 1}
    gpu   20   400   kernel   ampere_sgemm_128x64_tn  {"correlation": 1}
    """
    measured = measured_case({"timeline": text, "facts": {"gpu_capability": "8.0"}})
    rule = RULES["fp32-matmul"]
    halved = replace(rule, saving=replace(rule.saving, ratio=0.75, between=(0.5, 1.0), formats=None))
    # half of the kernel's 0.4 ms; what another number format leaves is a matter of the GPU's roofline
    assert at_most_ms(finding(halved, measured), measured) == pytest.approx(0.2)
    assert at_most_ms(finding(rule, measured), measured) == pytest.approx(0.4)


def test_plain_time_scales_what_the_profiler_stretched() -> None:
    # Workers load, so nothing tells the loader's own distortion: a plain step takes 5 ms, the
    # timeline's 10, and the wait of 6 counts 3.
    two_workers = {"cpu_core_count": 8, "loaders": [{"num_workers": 2, "dataset_length": 100}]}
    measured = measured_case({**case(8), "facts": two_workers, "plain_ms": [5, 5, 5], "fetch_ms": [9, 9, 9]})
    # two events cost next to nothing
    assert finding(RULES["input-wait-few-workers"], measured).ms_per_step == pytest.approx(3.0, abs=0.01)


def test_loading_in_the_main_process_is_scaled_by_its_own_distortion() -> None:
    # A fetch takes 1 ms plain and 4 ms under the profiler: of the recorded wait of 6 ms, 1.5
    # are left, and 3.5 for the rest of 5.
    phases = [
        {"name": "plain", "tick_ns": [0, 5_000_000, 10_000_000]},
        {"name": "timeline", "tick_ns": [20_000_000, 30_000_000]},
    ]
    measured = measured_case({**case(8), "plain_ms": [], "clock": {"phases": phases}, "fetch_ms": []})
    fetches = np.array(
        [(0, 1_000_000, 1_000_000, 0, 1, 0), (21_000_000, 4_000_000, 4_000_000, 0, 1, 0)], FETCH_RECORD
    )
    measured = Measured(replace(measured.recording, fetches=pd.DataFrame(fetches)))
    assert measured.metric("input_wait_ms") == pytest.approx(1.5)
    assert measured.row_ms("operators") == pytest.approx(3.5)
