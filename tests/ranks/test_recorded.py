"""A real job of 8 ranks (PARAM's DLRM on V100s), read by hand. It is looked for in
``../shared/traces``; without it, skipped.

Kernels of the all-to-alls and all-reduces of step 10 on the common clock, µs from the first on any rank:

    start on rank 7   7624 10404 10805 10938 12157 13638 14133 15225
    others' median       –  9387 10640 10814 12030 13528 14027 15112
    end (all ranks)   7634 10412 10812 10945 12243 13996 14600 16030
"""

from pathlib import Path

import pytest

from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.ranks.job import job_of
from diagnose.ranks.summary import summary_of

FOLDER = Path(__file__).parents[3] / "shared" / "traces"
FILES = sorted(FOLDER.glob("param-dlrm-r?.json.gz"))


@pytest.fixture(scope="module")
def job():
    if len(FILES) != 8:
        pytest.skip("no 8 ranks of param-dlrm in ../shared/traces")
    return job_of(summary_of(Measured(load_recording(path))) for path in FILES)


def test_all_ranks_and_collectives_are_found(job):
    assert (job.world_size, [state.rank for state in job.ranks]) == (8, list(range(8)))
    assert (job.missing, job.duplicates, job.matched, job.unmatched, job.notes) == ((), (), 8, 0, ())
    # less the very first
    assert {one.kind: one.count_per_step for one in job.collectives} == {"all_to_all": 4, "all_reduce": 3}


def test_the_clocks_of_one_machine_agree_to_microseconds(job):
    assert max(abs(state.offset_ms) for state in job.ranks) < 0.005
    assert max(state.offset_error_ms for state in job.ranks) < 0.005


def test_rank_7_holds_the_others_up_but_one_step_does_not_tell_whether_it_always_does(job):
    assert (job.late_rank, job.pattern, job.step_count) == (7, "unknown", 1)
    # It comes last to the four from the second on: alone by (10404 - 9895), (10805 - 10643),
    # (10938 - 10814), (12157 - 12148) µs.
    assert job.state(7).held_up_ms == pytest.approx(0.509 + 0.162 + 0.124 + 0.009, abs=0.005)
    # Against the others' median it is late at seven: 1017, 165, 124, 116, 110, 106, 113 µs.
    assert job.state(7).lateness_ms == pytest.approx(1.751, abs=0.06)


def test_the_other_ranks_gradients_come_late_on_ranks_4_and_5(job):
    assert job.state(4).last_share == job.state(5).last_share == 0
    assert job.state(4).lateness_ms == pytest.approx(0.109 + 0.406 + 0.505 + 0.851, abs=0.06)


# ---- two of 128 ranks of which only some events were kept


PAIR = sorted(FOLDER.glob("hta-tl-sampled-r?.json.gz"))


@pytest.mark.skipif(len(PAIR) != 2, reason="no hta-tl-sampled-r0 and -r1 in ../shared/traces")
def test_two_sampled_ranks_meet_in_the_collectives_that_end_at_one_moment():
    """Step 552: an all-reduce (rank 0 from 1051.950, rank 1 from 1074.278, to 1088.112 ms), an
    all-gather (1091.513, 1092.805, 1155.06).
    """
    job = job_of(summary_of(Measured(load_recording(path))) for path in PAIR)
    assert (job.world_size, len(job.missing), job.matched, job.unmatched) == (128, 126, 5, 5)
    assert (job.late_rank, job.pattern) == (1, "unknown")
    assert job.state(1).lateness_ms == pytest.approx((1074.278 - 1051.950) + (1092.805 - 1091.513), abs=0.1)
    own_ms = {one.kind: one.ms_per_step for one in job.collectives}
    assert own_ms == {
        "all_reduce": pytest.approx(1088.112 - 1074.278, abs=0.1),
        "all_gather": pytest.approx(1155.06 - 1092.805, abs=0.1),
    }
