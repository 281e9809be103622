"""How often ways to make a product are timed in turns, and what of it counts."""

from __future__ import annotations

import pytest
import torch

from diagnose.run.child.facts.machine import usable_cores
from diagnose.run.child.products.product_trial import shortest_ns


@pytest.mark.parametrize(
    ("call_ns", "times"),
    [
        ((2_000_000, 3_000_000), 6),  # 5 ms a turn: 30 ms after six
        ((100_000, 100_000), 20),  # 4 ms in all, and no more turns than that
        ((20_000_000, 40_000_000), 3),
    ],
)
def test_short_ways_are_timed_often_enough_to_meet_a_quiet_moment(
    monkeypatch: pytest.MonkeyPatch, call_ns: tuple[int, int], times: int
) -> None:
    """Where other programs hold the cores, a thread that waits for others of torch's spins: that counts as its
    time, and three turns of 2 ms can all lie in such a moment.
    """
    clock, calls = [0], [0, 0]
    monkeypatch.setattr("diagnose.run.child.products.product_trial.thread_time_ns", lambda: clock[0])

    def way(which: int) -> torch.Tensor:
        calls[which] += 1
        clock[0] += call_ns[which]
        return torch.zeros(())

    ways = [(lambda: way(0), []), (lambda: way(1), [])]
    assert shortest_ns(*ways, is_trained=False) == list(call_ns)
    assert calls == [times, times]


@pytest.mark.parametrize(("load", "threads"), [(1.0, 2), (1.3, 1)])
def test_while_others_hold_the_cores_one_thread_is_timed(
    load: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load * usable_cores(), 0.0, 0.0))
    torch.set_num_threads(2)
    seen: list[int] = []

    def way() -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return torch.zeros(())

    shortest_ns((way, []), is_trained=False)
    assert set(seen) == {threads} and torch.get_num_threads() == 2


def test_the_threads_are_what_they_were_where_a_way_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (1e6, 0.0, 0.0))
    torch.set_num_threads(2)

    def way() -> torch.Tensor:
        raise RuntimeError("no kernel")

    with pytest.raises(RuntimeError):
        shortest_ns((way, []), is_trained=False)
    assert torch.get_num_threads() == 2
