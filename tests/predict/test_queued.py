"""The replay keeps the time in which an idle GPU does not run what is queued (timelines in µs)."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.predict.new_ledger import ledger_after
from diagnose.predict.prediction import Prediction
from diagnose.predict.whatif import Question

from .test_graph import repeated
from .test_new_ledger import predicted, us
from .test_whatif import step_us

# Of the step of 1000 the GPU computes from 21 to 121 and from 700 to 900. It idles from 121 on although the call
# that launches b has returned at 145: beyond the usual latency of 6 for 700 - 151 = 549. The host waits for b.
HELD = """
main 10  5   runtime cudaLaunchKernel      =1
gpu  21  100 kernel  a                     =1
main 140 5   runtime cudaLaunchKernel      =2
gpu  700 200 kernel  b                     =2
main 150 755 runtime cudaStreamSynchronize
"""


@pytest.fixture(scope="module")
def prediction() -> Prediction:
    return predicted(trace_from_text(repeated(HELD, 1000, before=1)))


def test_the_replay_of_the_recording_ends_where_it_ends(prediction: Prediction) -> None:
    assert prediction.error == pytest.approx(0, abs=1e-4)
    assert us(ledger_after(prediction))["queued"] == pytest.approx(549)


def test_no_fix_of_the_host_removes_the_wait(prediction: Prediction) -> None:
    # Without the host's part: a's 100 and b's 200, the wait, and before each kernel a moment of 1.5 to 6.
    assert 1000 * (prediction.limit_ms or 0.0) == pytest.approx(100 + 549 + 200, abs=15)
    # Without the sync the host is done with a step after 245 and the GPU after that.
    assert step_us(prediction, Question("unblock", "host_sync")) == pytest.approx(100 + 549 + 200, abs=15)


def test_without_the_wait_the_step_is_as_much_shorter(prediction: Prediction) -> None:
    assert step_us(prediction, Question("remove", "queued")) == pytest.approx(1000 - 549, abs=1)
    assert step_us(prediction, Question("shrink", "queued", 0.5)) == pytest.approx(1000 - 549 / 2, abs=1)
