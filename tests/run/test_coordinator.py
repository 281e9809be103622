"""How ranks agree on the ticks at which phases end, and on the last one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diagnose.run.child.coordinator import RankCoordinator, own_rank
from diagnose.run.child.shared_state import RECORDING, RankSlot, SharedState, Stage


@pytest.fixture
def page(tmp_path: Path) -> SharedState:
    return SharedState(str(tmp_path))


def crew_of(folder: Path, *ticks: int) -> list[RankCoordinator]:
    """Ranks 0, 1, … that are at these ticks; all of them this process, as far as anybody can see."""
    coordinator = [RankCoordinator(SharedState(str(folder)), rank) for rank in range(len(ticks))]
    for one, tick in zip(coordinator, ticks, strict=True):
        one.tick(tick)
    return coordinator


def always() -> bool:
    return True


def never() -> bool:
    return False


def ends(rank: RankCoordinator, wanted: bool, period: int = 1) -> bool:
    return rank.ends("optimizer", "plain", period, always if wanted else never)


def test_a_rank_alone_ends_its_phases_when_it_wants(tmp_path: Path) -> None:
    (alone,) = crew_of(tmp_path, 7)
    assert not ends(alone, wanted=False)
    assert ends(alone, wanted=True)


def test_a_rank_is_alone_until_another_one_ticks(tmp_path: Path) -> None:
    (first,) = crew_of(tmp_path, 7)
    assert first.alone
    assert not first.others_record
    second = RankCoordinator(SharedState(str(tmp_path)), 1)
    assert not first.alone
    assert first.others_record
    second.written()
    assert not first.others_record
    assert not first.alone  # it may still wait for this one in every step


def test_the_lowest_rank_decides_two_ticks_ahead(tmp_path: Path) -> None:
    first, second = crew_of(tmp_path, 7, 8)
    assert not ends(second, wanted=True)  # not its own decision
    assert not ends(first, wanted=True)
    assert not ends(second, wanted=False)
    for rank in (first, second):
        rank.tick(9)
        assert not ends(rank, wanted=True)
        rank.tick(10)  # two after the furthest
        assert ends(rank, wanted=False)


def test_phases_end_with_whole_steps(tmp_path: Path) -> None:
    first, second = crew_of(tmp_path, 9, 9)
    assert not ends(first, wanted=True, period=3)
    assert [
        tick for tick in range(9, 14) if (second.tick(tick), ends(second, wanted=False, period=3))[1]
    ] == [12, 13]


def test_a_rank_that_ticks_differently_goes_its_own_way(tmp_path: Path) -> None:
    first, second = crew_of(tmp_path, 7, 100)
    assert ends(first, wanted=True)
    assert ends(second, wanted=True)
    first, second = crew_of(tmp_path / "other" if (tmp_path / "other").mkdir() is None else tmp_path, 7, 8)
    assert not ends(first, wanted=True)
    second.tick(100)
    assert not ends(second, wanted=False)  # what has been said at tick 7 is not for it


def test_orders_of_a_clock_that_was_given_up_are_forgotten(tmp_path: Path) -> None:
    first, second = crew_of(tmp_path, 7, 7)
    assert not first.ends("backward", "warmup", 1, always)
    second.tick(9)
    assert second.ends("backward", "warmup", 1, never)
    assert not second.ends("optimizer", "warmup", 1, never)


def test_all_stop_at_one_tick_after_all_have_written(tmp_path: Path) -> None:
    first, second = crew_of(tmp_path, 20, 21)
    first.written()
    assert first.last_tick() is None
    assert first.last_tick(whatever_others_do=True) == 23
    second.written()
    assert second.last_tick() is None  # one says it
    assert first.last_tick() == 23


def test_the_next_rank_leads_when_the_first_has_ended(tmp_path: Path, page: SharedState) -> None:
    first, second, third = crew_of(tmp_path, 5, 5, 5)
    first.announce(Stage("of the first"))
    second.announce(Stage("of the second"))
    assert page.phase == "of the first"
    first.ended()
    second.announce(Stage("of the second"))
    assert page.phase == "of the second"
    assert not ends(third, wanted=True)
    assert not ends(second, wanted=True)
    third.tick(7)
    assert ends(third, wanted=False)


def test_a_rank_whose_process_is_gone_is_not_waited_for(tmp_path: Path, page: SharedState) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    (alone,) = crew_of(tmp_path, 7)
    page.set_slot(1, RankSlot(gone.pid, 1, 7, RECORDING))
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken note yet
    assert ends(alone, wanted=True)
    alone.written()
    assert alone.last_tick() == 7
    gone.wait()


def test_ranks_on_several_machines_go_by_their_own_count(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here, there = (
        RankCoordinator(SharedState(str(folder)), rank, spread=True)
        for rank, folder in ((0, tmp_path), (1, tmp_path / "other"))
    )
    for one in (here, there):
        one.tick(12)
        assert not ends(one, wanted=False)
        assert ends(one, wanted=True)  # at once: the others count alike
        one.tick(20)
        one.written()
        one.tick(21)
        assert one.last_tick() == 22


def test_on_each_of_several_machines_all_have_written_before_they_stop(tmp_path: Path) -> None:
    first, second = (RankCoordinator(SharedState(str(tmp_path)), rank, spread=True) for rank in (0, 1))
    for one in (first, second):
        one.tick(20)
    first.written()
    assert first.last_tick() is None
    second.written()
    first.tick(21)
    assert first.last_tick() == 22


def test_the_rank_is_the_launchers_where_there_is_no_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    for rank, world_size, expected in [
        ("3", "4", 3),
        ("0", "1", 0),
        ("4", "4", 0),
        ("3", "", 0),
        ("x", "4", 0),
    ]:
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", world_size)
        assert own_rank() == expected
