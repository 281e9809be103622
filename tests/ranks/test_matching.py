from dataclasses import replace

import pytest

from diagnose.ranks.matching import aligned
from tests.ranks.jobs import summary


def test_without_numbers_that_mean_the_same_step_the_ends_tell_the_shift():
    """Both count from 0, but rank 1 began two steps later; the steps' own lengths differ, as steps do."""
    jitter = {0: 0, 1: 7, 2: 3, 3: 11, 4: 2, 5: 9}
    first, second = _irregular(0, range(5), jitter), _irregular(1, range(2, 6), jitter)
    second = replace(
        second,
        steps=second.steps.assign(number=second.steps["number"] - 2),
        collectives=second.collectives.assign(step=second.collectives["step"] - 2),
        numbered=False,
    )
    together = aligned([replace(first, numbered=False), second])
    assert together.rows.tolist() == [[2, 3, 4], [0, 1, 2]]
    assert together.offset_ns[1] == pytest.approx(0, abs=1000)


def _irregular(rank, steps, jitter_ms):
    """A rank whose collectives end as much later."""
    one = summary(rank, steps=steps)
    later = one.collectives["step"].map(jitter_ms) * 1_000_000
    return replace(one, collectives=one.collectives.assign(end_ns=one.collectives["end_ns"] + later))


def test_a_collective_that_does_not_end_with_the_others_is_another_one():
    one = summary(1, steps=range(6))
    ends = one.collectives["end_ns"].to_numpy().copy()
    ends[3] += 20_000_000
    together = aligned(
        [summary(0, steps=range(6)), replace(one, collectives=one.collectives.assign(end_ns=ends))]
    )
    assert together.rows.tolist() == [[0, 1, 2, 4, 5]] * 2
    assert together.unmatched == 1


def test_a_rank_whose_collectives_end_at_random_is_left_out():
    one = summary(1, steps=range(6))
    spread = [0, 40_000_000, -40_000_000, 60_000_000, -60_000_000, 20_000_000]
    scattered = replace(one, collectives=one.collectives.assign(end_ns=one.collectives["end_ns"] + spread))
    together = aligned([summary(0, steps=range(6)), scattered, summary(2, steps=range(6))])
    assert [one.rank for one in together.summaries] == [0, 2]
    assert [one.rank for one in together.left_out] == [1]


def test_where_collectives_were_lost_the_moment_they_end_at_tells():
    """Rank 1 lost two of eight, so that the how-manyth differs from then on; its steps
    of another length would fit no shift.
    """
    jitter = {0: 0, 1: 70, 2: 3, 3: 51, 4: 2, 5: 33, 6: 0, 7: 12}
    whole, lossy = _irregular(0, range(8), jitter), _irregular(1, range(8), jitter)
    lossy = replace(lossy, collectives=lossy.collectives.drop(index=[1, 4]).reset_index(drop=True))
    together = aligned([whole, lossy, _irregular(2, range(8), jitter)])
    assert together.rows[:2].tolist() == [[0, 2, 3, 5, 6, 7], [0, 1, 2, 3, 4, 5]]
    assert together.unmatched == 2


def test_collectives_of_other_kinds_do_not_match():
    one = summary(1)
    together = aligned(
        [summary(0), replace(one, collectives=one.collectives.assign(kind="all_gather")), summary(2)]
    )
    assert [one.rank for one in together.left_out] == [1]


def test_where_nobody_waits_for_everybody_nothing_is_matched():
    sent = [
        replace(one, collectives=one.collectives.assign(kind="send_recv")) for one in map(summary, range(2))
    ]
    assert aligned(sent).rows.shape[1] == 0


def test_a_first_rank_that_lost_its_collectives_is_not_the_reference():
    one = summary(0)
    together = aligned([replace(one, collectives=one.collectives.iloc[:1]), *map(summary, (1, 2, 3))])
    assert together.rows.shape == (4, 1)
    lost = aligned([replace(one, collectives=one.collectives.iloc[:0]), *map(summary, (1, 2, 3))])
    assert lost.rows.shape == (3, 4)
    assert [one.rank for one in lost.left_out] == [0]
