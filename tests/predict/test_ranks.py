"""Ranks that meet in their collectives, worked out by hand. Times in µs."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge.timelines import trace_from_text
from diagnose.measure.selection import Selection
from diagnose.predict.device_lanes import device_lanes
from diagnose.predict.ranks import Ranks
from diagnose.predict.recorded import host_windows, recorded_graph
from diagnose.predict.replay import Edit, Replay


def rank(compute: int, waits: int, transfer: int = 50, clock: int = 0) -> tuple[Replay, Selection]:
    """Three steps of ``compute`` on the GPU, then an all-reduce that waits for the other rank
    first; the host launches both and waits.
    """
    step = 20 + compute + waits + transfer + 10
    reduce = 20 + compute
    text = f"""
    main {clock} {step} step       ProfilerStep#1        {{"repeat": 3, "every": {step}}}
    main {clock} {step} annotation train                 {{"repeat": 3, "every": {step}}}
    main {clock} 5      runtime    cudaLaunchKernel      {{"repeat": 3, "every": {step}, "correlation": 10}}
    gpu  {clock + 20} {compute} kernel gemm              {{"repeat": 3, "every": {step}, "correlation": 10}}
    main {clock + 5} 5  runtime    cudaLaunchKernel      {{"repeat": 3, "every": {step}, "correlation": 20}}
    gpu  {clock + reduce} {waits + transfer} kernel ncclDevKernel_AllReduce {{"repeat": 3, "every": {step}, "correlation": 20}}
    main {clock + 10} {step - 10} runtime cudaDeviceSynchronize {{"repeat": 3, "every": {step}, "correlation": 30}}
    """
    view = Selection(trace_from_text(text))
    lanes, windows = device_lanes(view), view.windows
    assert (host_windows(view, lanes) == windows).all()
    graph = recorded_graph(view, lanes, int(windows[0, 0]), int(windows[-1, 1]), len(windows))
    return Replay(graph, view.device["dur_ns"].to_numpy()), view


def kernels(view: Selection, name: str) -> np.ndarray:
    return np.flatnonzero(view.device["name"].astype(str).str.contains(name))


def together(*ranks: tuple[Replay, Selection]) -> Ranks:
    return Ranks([replay for replay, _ in ranks], [kernels(view, "nccl") for _, view in ranks])


# The slow rank computes for 200, the fast one for 100 and waits 100 for it: steps of 280 on both.
SLOW, FAST = rank(200, 0), rank(100, 100, clock=7)


def test_the_recording_is_given_back() -> None:
    assert SLOW[0].step_ns() / 1000 == FAST[0].step_ns() / 1000 == pytest.approx(280, abs=0.1)
    assert together(SLOW, FAST).step_ns([(), ()]) / 1000 == pytest.approx(280, abs=0.1)


def test_the_rank_that_waits_gains_nothing_alone() -> None:
    # Alone the fast rank looks as if half the compute saved 50. Its all-reduce waits
    # that much longer for the slow rank.
    half = Edit(events=kernels(FAST[1], "gemm"), event_ratio=0.5)
    assert FAST[0].step_ns([half]) / 1000 == pytest.approx(230, abs=0.1)
    assert together(SLOW, FAST).step_ns([(), (half,)]) / 1000 == pytest.approx(280, abs=0.1)


def test_the_slow_rank_gains_until_the_other_is_the_slow_one() -> None:
    half = Edit(events=kernels(SLOW[1], "gemm"), event_ratio=0.5)
    quarter = Edit(events=kernels(SLOW[1], "gemm"), event_ratio=0.25)
    assert together(SLOW, FAST).step_ns([(half,), ()]) / 1000 == pytest.approx(180, abs=0.1)
    assert together(SLOW, FAST).step_ns([(quarter,), ()]) / 1000 == pytest.approx(180, abs=0.1)


def test_a_faster_collective_is_faster_for_all() -> None:
    halves = [[Edit(events=kernels(view, "nccl"), event_ratio=0.5)] for _, view in (SLOW, FAST)]
    assert together(SLOW, FAST).step_ns(halves) / 1000 == pytest.approx(255, abs=0.1)


def test_more_ranks_than_a_node_has_edges() -> None:
    others = [rank(100, 100, clock=clock) for clock in (1, 2, 3, 4, 5)]
    half = Edit(events=kernels(SLOW[1], "gemm"), event_ratio=0.5)
    assert together(*others, SLOW).step_ns([*([()] * 5), (half,)]) / 1000 == pytest.approx(180, abs=0.1)


def test_ranks_that_recorded_different_collectives_are_refused() -> None:
    with pytest.raises(DiagnoseError, match="cannot be replayed together"):
        Ranks([SLOW[0], FAST[0]], [kernels(SLOW[1], "nccl"), kernels(FAST[1], "nccl")[:-1]])
