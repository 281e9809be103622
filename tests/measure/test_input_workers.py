"""How many workers are suggested, by hand: a step of 100 ms, of which 80 ms load one batch."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.timelines import measured_case

STEP = {
    "timeline": "main 0 100000 step ProfilerStep#1\nmain 0 80000 mark next@12\nmain 80000 20000 op aten::mm",
    "plain_ms": [100, 100, 100],
    "fetch_ms": [80, 80, 80],
}


def suggested(cores: int, **case: Any) -> object:
    facts = {"cpu_core_count": cores, "loaders": [{"num_workers": 0, "dataset_length": 100}]}
    return measured_case({**STEP, "facts": facts, **case}).metric("suggested_workers")


def test_as_many_as_keep_up_and_one() -> None:
    assert suggested(8) == 5  # 80 ÷ 20, and one


def test_no_more_than_the_cores_where_a_fetch_computes() -> None:
    assert suggested(2) == 2


@pytest.mark.parametrize(("busy_ms", "workers"), [(40, 4), (8, 5)])
def test_more_than_the_cores_where_a_fetch_waits(busy_ms: int, workers: int) -> None:
    # Half of a fetch, or a tenth, needs a processor: two cores serve four workers,
    # or twenty, of which five are enough.
    assert suggested(2, fetch_cpu_ms=[busy_ms] * 3) == workers


def test_not_so_many_that_one_more_gains_nothing() -> None:
    # 99 of 100 ms are loading: with 10 workers 9.9 ms are left of it, a tenth of the step.
    timeline = "main 0 100000 step ProfilerStep#1\nmain 0 99000 mark next@12\nmain 99000 1000 op aten::mm"
    assert suggested(2, timeline=timeline, fetch_ms=[99] * 3, fetch_cpu_ms=[1] * 3) == 11
