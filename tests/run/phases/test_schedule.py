"""The schedule on its own: counts and times."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from diagnose.run.child.phases import schedule
from diagnose.run.child.phases.schedule import SECOND, Budget, budgets, period, settled
from diagnose.run.child.phases.warm_up import WarmUp
from diagnose.run.child.steps.answers import Again


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ("", 1),
        ("a", 1),
        ("aaaa", 1),
        ("ababab", 2),
        ("aaaaabaaaaab", 6),
        ("aaaaabaaaaa", 1),
        ("xxabcabcabcabc", 3),
        ("abcdefghij", 1),
        ("aaaaaaaaabbbbbbbbbbbbbbbbbb", 1),
        ("aab" * 4 + "a" + "aab" * 4, 3),  # an epoch of 13 batches, for two critic's steps and one
        ("aab" * 4 + "aa" + "aab" * 4, 3),
        ("aab" * 4 + "a" + "aab" + "a" + "aab" * 4, 1),  # cut twice
        ("aab" * 6 + "a" + "aa", 1),  # nobody knows yet how it goes on
        ("b" + "a" * 30 + "b" * 30, 1),
        ("aaaab" * 3 + "aaab" * 3, 1),
    ],
)
def test_the_period_of_several_optimizers(sources: str, expected: int) -> None:
    assert period(sources) == expected


class Counted:
    """A source that counts how often sources are compared."""

    compared = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def test_what_does_not_repeat_is_seen_by_few_comparisons() -> None:
    """At each tick of a warm-up: of each of 500 periods tried some two ticks on average tell."""
    Counted.compared = 0
    names = Random(0).choices("ab", k=1000)
    assert period([Counted(name) for name in names]) == 1
    assert Counted.compared < 5 * 500


def warm_up_of(ticks: str) -> WarmUp:
    """Told of ticks that come from as many objects as there are letters."""
    warm_up = WarmUp()
    for letter in ticks:
        warm_up.add(SOURCES[letter])
    return warm_up


SOURCES = {letter: object() for letter in "abc"}


@pytest.mark.parametrize(
    ("ticks", "period_then", "may_end"),
    [
        ("aaaa", 1, True),
        ("abab", 2, True),
        ("a" * 300 + "b", 1, False),  # an index is filled by one model; then two answer in turn
        ("a" * 300 + "bab", 2, False),  # a step ends with an even number of ticks
        ("a" * 299 + "bab", 2, True),
        ("aaaaab" * 2, 6, True),
        ("a" * 5 + "b" + "a" * 59, 1, False),  # whether it comes again is not known
        ("a" * 5 + "b" + "a" * 60, 1, True),
    ],
)
def test_a_source_that_comes_late_begins_another_loop(ticks: str, period_then: int, may_end: bool) -> None:
    warm_up = warm_up_of(ticks)
    assert warm_up.period() == period_then
    assert warm_up.may_end(len(ticks) - 1, warm_up.period()) is may_end


def warmed_up(sources: Sequence[object]) -> list[tuple[int, int]]:
    """After how many ticks the warm-up may end, with the period then."""
    warm_up, found = WarmUp(), []
    for number, source in enumerate(sources):
        warm_up.add(source)
        if warm_up.may_end(number, warm_up.period()):
            found.append((number + 1, warm_up.period()))
    return found


def test_a_model_that_is_asked_the_same_ten_times_is_waited_for() -> None:
    """Two rounds are known when the third input has come; the step ends with a round's first call."""
    model, again = object(), Again()

    assert warmed_up(([model] + 9 * [again]) * 4)[:2] == [(30, 10), (40, 10)]


@pytest.mark.parametrize("ticks", ["acdbe" + "abe", "abe" + "acdbe"])
def test_optimizers_of_every_second_update_are_waited_for(ticks: str) -> None:
    """Five of them: the last one that is new comes again before two whole rounds of eight ticks are over."""
    sources = {letter: object() for letter in "abcde"}
    assert warmed_up([sources[letter] for letter in ticks * 4])[:2] == [(16, 8), (24, 8)]


def test_optimizers_without_a_round_are_not_waited_for() -> None:
    """The actor comes again after four ticks: when twice as many have passed since it came, no round is
    known, and none is waited for.
    """
    critic, actor = object(), object()
    ticks = [critic, actor, critic, critic, critic, actor, actor, critic, critic, critic]
    assert warmed_up(ticks)[0] == (9, 1)


def test_one_input_for_ever_is_not() -> None:
    assert warmed_up([object()] + 40 * [Again()])[0] == (26, 1)


def test_new_optimizers_all_the_time_are_not_waited_for() -> None:
    warm_up, made = WarmUp(), [object() for _ in range(61)]
    for source in made[:60]:
        warm_up.add(source)
    assert not warm_up.may_end(59, 1)
    warm_up.add(made[60])
    assert warm_up.may_end(60, 1)


def test_warm_up_ends_when_steps_take_the_same_time() -> None:
    assert settled([10, 11, 12], 33)
    assert not settled([44_000, 11, 12], 44_023)
    assert settled([44_000, 11, 12, 11], 44_034)
    assert not settled([10, 11], 21)


def test_warm_up_ends_when_patience_is_used_up() -> None:
    assert settled([10, 30] * 15, 600)
    assert not settled([10, 30] * 14, 560)
    assert settled([7 * SECOND, 20 * SECOND, 7 * SECOND], 34 * SECOND)
    assert settled([21 * SECOND], 21 * SECOND)


def test_budgets_scale_with_the_steps() -> None:
    assert {name: budget.steps for name, budget in budgets(8).items()} == {
        "plain": 20,
        "parts": 16,
        "timeline": 8,
        "detail": 2,
    }
    assert {name: budget.steps for name, budget in budgets(1).items()} == {
        "plain": 5,
        "parts": 2,
        "timeline": 1,
        "detail": 1,
    }
    more_plain = budgets(2, plain_steps=40)
    assert {name: budget.steps for name, budget in more_plain.items()} == {
        "plain": 40,
        "parts": 4,
        "timeline": 2,
        "detail": 1,
    }


def test_without_time_only_steps_count() -> None:
    assert not settled([10] * 9, 90, timed=False)
    assert settled([10, 99] * 5, 1, timed=False)
    untimed = budgets(8, timed=False)
    assert {name: budget.steps for name, budget in untimed.items()} == {
        "plain": 20,
        "parts": 8,
        "timeline": 8,
        "detail": 2,
    }
    for budget in untimed.values():
        assert not budget.used_up(budget.steps - 1, 9999 * SECOND)
        assert budget.used_up(budget.steps, 1)
        assert budget.expected_steps(100 * SECOND) == budget.steps


def test_a_budget_by_steps_and_by_time() -> None:
    budget = Budget(20, at_least=5, time_limit_ns=30 * SECOND)
    assert budget.used_up(20, 1)
    assert not budget.used_up(4, 11 * SECOND)
    assert budget.used_up(5, 11 * SECOND)
    assert budget.used_up(1, 31 * SECOND)
    assert not budget.used_up(0, 99 * SECOND)


def test_a_phase_of_short_steps_lasts_some_time() -> None:
    budget = Budget(20, least_ns=300_000_000)
    assert not budget.used_up(20, 299_000_000)
    assert budget.used_up(20, 300_000_000)
    assert not budget.used_up(19, 301_000_000)
    assert budget.expected_steps(1_000_000) == 300
    assert budget.expected_steps(100_000_000) == 20
    # Whoever asks for a number of steps gets it.
    assert {budget.least_ns for budget in budgets(8).values()} == {0}
    assert all(budget.least_ns for budget in budgets().values())
    assert budgets(plain_steps=30)["plain"] == Budget(30, at_least=5, time_limit_ns=30 * SECOND)


def counts(one: schedule.Round) -> dict[str, int]:
    return {name: budget.steps for name, budget in one.items()}


def test_where_enough_steps_are_left_there_is_one_round() -> None:
    full = budgets()
    # Steps of 100 ms: 20 plain ones, 16 for their parts (5 in half a second), 8 in the timeline, 2 in detail.
    assert sum(budget.expected_steps(100_000_000) for budget in full.values()) == 35
    assert schedule.rounds(full, 35, 100_000_000) == [full]
    assert len(schedule.rounds(full, 34, 100_000_000)) == 2


@pytest.mark.parametrize(
    ("left", "short"),
    [
        (None, {"plain": 3, "parts": 1, "timeline": 2, "detail": 1}),
        (2, {"plain": 3, "timeline": 2}),
        (5, {"plain": 3, "timeline": 2}),
        (7, {"plain": 3, "parts": 1, "timeline": 2, "detail": 1}),
        # detail has no more in a full round either
        (28, {"plain": 17, "parts": 4, "timeline": 5, "detail": 2}),
    ],
)
def test_a_short_round_comes_first_where_few_steps_are_left_or_nobody_knows(
    left: int | None, short: dict[str, int]
) -> None:
    full = budgets()
    first, second = schedule.rounds(full, left, 100_000_000)
    assert (counts(first), second) == (short, full)
    assert not any(budget.least_ns for budget in first.values())


@pytest.mark.parametrize(
    ("left", "looks"), [(None, True), (5, True), (8, True), (9, False), (28, False), (35, False)]
)
def test_where_nothing_was_recorded_at_once_a_first_look_comes_before_a_short_round(
    left: int | None, looks: bool
) -> None:
    full = budgets()
    usual, rounds = (
        schedule.rounds(full, left, 100_000_000, unrecorded=unrecorded) for unrecorded in (False, True)
    )
    assert rounds[-len(usual) :] == usual and len(rounds) == len(usual) + looks
    if looks:
        assert counts(rounds[0]) == {"plain": 1, "timeline": 2, "detail": 1}
        assert [schedule.warm_up_steps(one) for one in rounds[:2]] == [1, 3]
        assert {one.cold for one in rounds[0].values()} == {True} and not any(
            one.cold for one in usual[0].values()
        )


def test_a_short_round_holds_no_more_steps_of_a_phase_than_the_full_one() -> None:
    """22 steps left of the 23 that are asked for; else its plain steps would count in place of the full
    round's.
    """
    short, full = schedule.rounds(budgets(4), 22, 1_000_000)
    assert counts(full) == {"plain": 10, "parts": 8, "timeline": 4, "detail": 1}
    assert counts(short) == {"plain": 10, "parts": 3, "timeline": 4, "detail": 1}


def test_a_first_look_is_no_longer_than_what_is_asked_for() -> None:
    assert counts(schedule.rounds(budgets(1), None, 100_000_000, unrecorded=True)[0]) == {
        "plain": 1,
        "timeline": 1,
        "detail": 1,
    }


def test_rounds_grow_where_the_full_one_is_long() -> None:
    # Steps of 2 ms: 600 plain ones in 1.2 s, 75 for their parts, 100 in the timeline, 10 in detail are 785.
    # There is a round of 7, one of 42 and one of 252; 1512 would be more than half of all.
    full = budgets()
    assert sum(budget.expected_steps(2_000_000) for budget in full.values()) == 785
    *short, last = schedule.rounds(full, None, 2_000_000)
    assert [sum(counts(one).values()) for one in short] == [7, 42, 252]
    assert last is full


MS = 1_000_000


@pytest.mark.parametrize(
    ("steps_ms", "awaited"),
    [
        ([10] * 30, False),
        ([10] * 20 + [300] + [10] * 9, True),  # 290 of 590 ms
        ([10] * 10 + [300] + [10] * 19 + [300], False),  # it has come back
        ([10] * 10 + [150, 160, 10] + [10] * 17, True),  # two in a row are one occasion
        ([10] * 20 + [300] + [10] * 400, False),  # 290 ms are 6 % of 4.5 s by now
        ([10] * 15 + [29] + [10] * 4, False),  # less than three times as long
        ([10] * 1000 + [3000], False),  # ten seconds are over
    ],
)
def test_plain_steps_go_on_until_a_long_one_comes_back(steps_ms: list[int], awaited: bool) -> None:
    assert schedule.awaits_another([ms * MS for ms in steps_ms]) is awaited


@pytest.mark.parametrize(("step_ms", "least_s"), [(0, 1.2), (10, 1.2), (72, 3.6), (500, 4.0)])
def test_plain_steps_last_until_fifty_or_four_seconds(step_ms: int, least_s: float) -> None:
    full = schedule.paced(budgets(), step_ms * SECOND // 1000)
    assert full["plain"].least_ns == least_s * SECOND
    assert {name: full[name] for name in full if name != "plain"} == {
        name: budget for name, budget in budgets().items() if name != "plain"
    }


def test_steps_that_were_asked_for_stay() -> None:
    assert schedule.paced(budgets(8), SECOND)["plain"] == budgets(8)["plain"]
    assert schedule.paced(budgets(plain_steps=7), SECOND)["plain"].steps == 7
    assert schedule.paced(budgets(plain_steps=7), SECOND)["plain"].least_ns == 0


@pytest.mark.parametrize(
    ("step_ms", "unsure"),
    [
        ([10] * 20, False),
        # a median deviation of 4 ms of 20: 2 * 1.86 * 4 / sqrt(n) is more than 1 ms up to 220 steps
        ([16, 20, 20, 24, 24] * 20, True),
        ([16, 20, 20, 24, 24] * 46, False),
        ([160, 200, 200, 240, 240] * 6, False),  # that is 6 s already
    ],
)
def test_steps_that_differ_are_timed_for_longer(step_ms: list[int], unsure: bool) -> None:
    assert schedule.is_unsure([ms * SECOND // 1000 for ms in step_ms]) is unsure
