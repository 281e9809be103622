"""Process groups: a grid of 2 × 2 ranks as `tests.ranks.jobs` lays it out, with rank 3
waiting 12 ms longer for the loader.

Rank 3 comes to the first all-reduce at 32 ms, rank 2 waits for it since 20 ms. Both come to the second at 62
ms, where rank 0 waits for rank 2 since 50 ms and rank 1 for rank 3.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from diagnose.errors import DiagnoseError
from diagnose.predict.whatif import _refuse_smaller_groups
from diagnose.ranks.arrivals import inherited_ns, of_same_ranks
from diagnose.ranks.job import job_of
from diagnose.ranks.matching import aligned
from diagnose.ranks.summary import read_summary, write_summary
from tests.ranks.jobs import grid_measured, grid_summary

RANKS = range(4)


@pytest.fixture(scope="module")
def ranks():
    return [grid_summary(rank, late=3, late_ms=12) for rank in RANKS]


def test_ranks_are_matched_with_those_of_their_groups_alone(ranks):
    together = aligned(ranks)
    takes_part = (together.rows >= 0).astype(int).T.tolist()
    assert sorted(map(tuple, takes_part)) == sorted(
        [(1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 1, 0), (0, 1, 0, 1)] * 4
    )
    assert (together.unmatched, together.left_out) == (0, ())
    assert together.notes == ("The ranks form 4 process groups, and are compared within each.",)
    arrival = together.times_ns("arrival_ns")
    assert np.nanmax(arrival, axis=0).tolist() == sorted(np.nanmax(arrival, axis=0).tolist())
    assert together.offset_ns.tolist() == [0, 0, 0, 0]


def test_the_late_rank_and_what_its_groups_wait_for_it(ranks):
    job = job_of(ranks)
    assert (job.matched, job.step_count, job.late_rank, job.pattern) == (16, 3, 3, "persistent")
    # Rank 3 comes 12 ms late to both; rank 2 to the second, as it waited for rank 3 in the
    # first. Nobody waits for more than 12 ms.
    assert [state.lateness_ms for state in job.ranks] == pytest.approx([0, 0, 0, 12])
    assert [state.held_up_ms for state in job.ranks] == pytest.approx([0, 0, 0, 12])
    assert [state.last_share for state in job.ranks] == [0, 0, 0, 1]
    assert job.held_up_ms == pytest.approx(12)
    assert (job.cause, job.cause_ms) == ("input_wait", pytest.approx(12))
    assert job.gain_ms == pytest.approx(12)


def test_collectives_by_group_with_the_bandwidth_of_two_ranks(ranks):
    tensor, data = sorted(job_of(ranks).collectives, key=lambda one: one.ms_per_step)
    assert (tensor.kind, tensor.lane, tensor.size, tensor.count_per_step) == ("all_reduce", "mesh_tp", 2, 1)
    assert (data.kind, data.lane, data.size, data.count_per_step) == ("all_reduce", "mesh_dp", 2, 1)
    assert (tensor.bytes_per_step, data.bytes_per_step) == (2**25, 2**26)
    assert (tensor.ms_per_step, data.ms_per_step) == (pytest.approx(10), pytest.approx(30))
    assert tensor.waiting_ms_per_step == pytest.approx(3)  # 12 ms on one of four ranks
    assert data.waiting_ms_per_step == pytest.approx(6)  # on two of them
    assert tensor.bus_gb_per_s == pytest.approx(2**25 / 0.010 / 1e9)  # 2 · (2 - 1) / 2 = 1
    assert tensor.best_gb_per_s == pytest.approx(2**25 / 0.010 / 1e9)
    assert data.bus_gb_per_s == pytest.approx(2**26 / 0.030 / 1e9)
    assert tensor.on_one_host and data.on_one_host


def test_with_a_rank_missing_the_other_groups_are_compared(ranks):
    """Without rank 1: ranks 2 and 3 share a group, and ranks 0 and 2."""
    job = job_of([ranks[0], ranks[2], ranks[3]])
    assert (job.missing, job.matched, job.unmatched) == ((1,), 8, 8)
    assert {one.lane: one.bus_gb_per_s for one in job.collectives} == {
        "mesh_tp": pytest.approx(2**25 / 0.010 / 1e9),
        "mesh_dp": pytest.approx(2**26 / 0.030 / 1e9),
    }
    assert [state.lateness_ms for state in job.ranks] == pytest.approx([0, 0, 12])


def test_clocks_are_joined_through_the_groups(ranks):
    """Rank 3 shares no group with rank 0: its clock is known by rank 2's, or by rank 1's."""
    ahead = replace(
        ranks[3],
        host="node1",
        collectives=ranks[3].collectives.assign(
            **{name: ranks[3].collectives[name] + 7_000_000_000 for name in ("arrival_ns", "end_ns")}
        ),
    )
    together = aligned([*ranks[:3], ahead])
    assert together.offset_ns == pytest.approx([0, 0, 0, 7_000_000_000])
    job = job_of([*ranks[:3], ahead])
    assert (job.late_rank, job.held_up_ms) == (3, pytest.approx(12, abs=0.01))
    assert [one.on_one_host for one in job.collectives] == [False, False]


def test_ranks_that_share_no_group_with_the_others_are_left_out(ranks):
    together = aligned([ranks[0], ranks[3]])
    assert together.rows.shape[1] == 0
    job = job_of([ranks[0], ranks[3]])
    assert (job.matched, job.unmatched, job.pattern) == (0, 16, "unknown")


def test_groups_of_one_name_with_other_ranks_are_others(ranks):
    """`split_group` gives each part of a split the same name."""
    same = [
        replace(
            one,
            collectives=one.collectives.assign(
                group=one.collectives["group"].str.replace(r"^[12] ", "1 ", regex=True)
            ),
        )
        for one in ranks
    ]
    assert np.array_equal(aligned(same).rows, aligned(ranks).rows)


def test_collectives_that_tell_no_group_are_left_out_where_there_are_smaller_groups(ranks):
    def with_one_more(one):
        more = one.collectives.iloc[:1].assign(group="", lane="0", size=-1)
        return replace(
            one,
            collectives=type(more)(np.concatenate([more, one.collectives]), columns=more.columns).astype(
                more.dtypes
            ),
        )

    together = aligned([with_one_more(one) for one in ranks])
    assert together.rows.shape[1] == 16


def test_without_told_groups_all_ranks_are_taken_for_one_group():
    """What can be said of an older trace: the ends of different groups' collectives
    differ, so not all of it is compared.
    """
    together = aligned([grid_summary(rank, groups=False) for rank in RANKS])
    assert (together.rows >= 0).all()
    assert together.notes == ()


def test_what_was_waited_in_another_group_is_not_a_rank_s_own_lateness():
    """Ranks 0 and 1 meet, then 0 and 2, then 0 and 1: rank 0 waits 5, 7 and
    nothing; rank 1 waits 12 in the last.
    """
    arrival = np.array([[0, 10, 30], [5, np.nan, 18], [np.nan, 17, np.nan]])
    groups = of_same_ranks(arrival)
    assert sorted(columns.tolist() for columns in groups) == [[0, 2], [1]]
    waiting = np.fmax.reduce(arrival, axis=0) - arrival
    assert inherited_ns(waiting, groups)[0].tolist() == [0, 5, 7]
    assert inherited_ns(waiting, [np.arange(3)])[0].tolist() == [0, 0, 0]


def test_unnumbered_steps_of_groups_without_the_first_rank_are_told_by_time(ranks):
    shifted = [
        replace(
            one,
            numbered=False,
            steps=one.steps.assign(number=one.steps["number"] + 10 * one.rank),
            collectives=one.collectives.assign(step=one.collectives["step"] + 10 * one.rank),
        )
        for one in ranks
    ]
    together = aligned(shifted)
    assert sorted(together.steps.tolist()) == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4


def test_groups_survive_being_a_file(ranks, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write_summary(ranks[3], tmp_path / "3.parquet")
    again = read_summary(tmp_path / "3.parquet")
    assert again.collectives[["group", "lane", "size"]].drop_duplicates().to_numpy().tolist() == [
        ["2 [2, 3]", "mesh_tp", 2],
        ["4 [1, 3]", "mesh_dp", 2],
    ]
    assert job_of([*ranks[:3], again]).held_up_ms == job_of(ranks).held_up_ms


def test_such_a_job_is_not_replayed_as_if_all_met_in_all_collectives():
    rank = SimpleNamespace(measured=grid_measured(0))
    _refuse_smaller_groups(rank, 2)  # of two ranks both are in a group of two
    with pytest.raises(
        DiagnoseError, match=r"cannot be replayed together\n  saw: .*: 1 \[0, 1\], 3 \[0, 2\]"
    ):
        _refuse_smaller_groups(rank, 4)
