"""What only some steps have comes off the average step, whatever the GPU leaves of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.judge.findings import Finding
from diagnose.judge.rules import Saving, load_rules
from diagnose.judge.timelines import measured_case
from diagnose.predict.prediction import Prediction
from diagnose.predict.saving import saving_of

RULE = load_rules()["epoch-end-work"]
# The GPU works all the time: nothing on the host makes a step shorter.
GPU_BOUND = """
main  0    100   op       aten::mm
main  10   10    runtime  cudaLaunchKernel  {"correlation": 1}
gpu   20   980   kernel   gemm              {"correlation": 1}
main  0    1000  step     ProfilerStep#1
"""


def test_a_gpu_that_is_always_busy_does_not_bound_it() -> None:
    """An evaluation of 1 ms a step on average, of which half is left; the other steps take 1 ms."""
    half = replace(RULE, saving=Saving("remove", "average", ratio=0.5, between=(0.5, 0.5)))
    prediction = Prediction(measured_case({"timeline": GPU_BOUND, "plain_ms": [1.0] * 5}))
    saving = saving_of(Finding(half, "fires", (), 1.0), prediction)
    assert saving is not None and saving.predicted_ms == pytest.approx(0.5)
    of_each_step = replace(half, saving=replace(half.saving, scope="step"))
    bounded = saving_of(Finding(of_each_step, "fires", (), 0.5), prediction)
    assert bounded is not None and bounded.predicted_ms < 0.1
