"""When the wait for batches comes: with slow batches, at the start of an epoch, or in every step."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.input import (
    NO_FETCH,
    feeding_loader,
    input_waits,
    loop_line,
    plain_fetch_rows,
    plain_fetches,
    undelayed_ms,
)
from diagnose.measure.epochs import epoch_begins, steps_since
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_PLAIN_STEPS, NO_STEPS, Missing, Unknown, known

NO_SECOND_EPOCH = Missing("no second epoch started while the script was recorded")
SLOW_FETCH = 3.0  # times the median fetch: far beyond how ordinary batches differ
LATE_STEP = 0.5  # of the median step beyond it
SHORTEST_EPOCH = 4  # steps: shorter ones leave too few ordinary steps to tell what an epoch's end adds


@metric(
    "slow_fetch_share",
    "share",
    "Share of loading time spent on slow batches (three times the median or more)",
)
def _slow_fetch_share(measured: Measured) -> Value | Missing:
    took = plain_fetches(measured)
    if not len(took):
        return NO_FETCH
    return float(took[is_slow_fetch(took)].sum() / took.sum())


@metric(
    "slow_fetch_ms",
    "ms",
    "Median time to load a slow batch (three times the median or more), without waits for a core",
)
def _slow_fetch_ms(measured: Measured) -> Value | Missing:
    fetches = plain_fetch_rows(measured)
    if not len(fetches):
        return NO_FETCH
    slow = is_slow_fetch(fetches["dur_ns"].to_numpy())
    return float(np.median(undelayed_ms(fetches)[slow])) if slow.any() else 0.0


def is_slow_fetch(took: np.ndarray) -> np.ndarray:
    return took >= SLOW_FETCH * np.median(took)


def slow_fetches_ms(measured: Measured) -> float:
    """What slow fetches take beyond the median fetch, ms per plain step."""
    took, steps = plain_fetches(measured), len(measured.recording.step_ns("plain"))
    return (
        float((took[is_slow_fetch(took)] - np.median(took)).sum()) / 1e6 / steps
        if len(took) and steps
        else 0.0
    )


@fact_selector(
    "input_bursts",
    "slow steps beyond the median that slow fetches in the workers explain (epoch ends left out)",
)
def _input_bursts(measured: Measured) -> list[FactPlace] | Missing:
    workers, steps_ms = measured.metric("loader_worker_count"), measured.recording.step_ns("plain") / 1e6
    if isinstance(workers, Missing):
        return workers
    if not len(steps_ms):
        return NO_PLAIN_STEPS
    beyond_ms = steps_ms - np.median(steps_ms)
    late = (beyond_ms >= LATE_STEP * np.median(steps_ms)) & ~at_epoch_ends(measured)
    cost_ms = min(float(beyond_ms[late].sum()) / len(steps_ms), slow_fetches_ms(measured)) if workers else 0.0
    return [FactPlace(*loop_line(measured), float(late.mean()), cost_ms)]


@metric(
    "steady_wait_share", "share", "Share of the step spent waiting if every batch came like the median one"
)
def _steady_wait_share(measured: Measured) -> Value | Missing:
    view, share = measured.timeline, measured.needed("input_wait_share")
    if view is None:
        return NO_STEPS
    waits = view.host["dur_ns"].to_numpy()[input_waits(view)]
    return (
        float(share) * min(1.0, float(np.median(waits) / waits.mean())) if len(waits) and waits.sum() else 0.0
    )


@metric("median_wait_ms", "ms", "Median time that the training thread waits for a batch")
def _median_wait_ms(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    if measured.metric("disturbed"):
        return Missing("other processes kept every core busy, which makes waits long at random")
    waits = view.host["dur_ns"].to_numpy()[input_waits(view)]
    return measured.plain_ms(float(np.median(waits)) / 1e6, of_input_wait=True) if len(waits) else NO_FETCH


@metric("epoch_step_count", "steps", "Steps per epoch, where a second epoch started during the recording")
def _epoch_step_count(measured: Measured) -> Value | Missing:
    loader = known(feeding_loader(measured))
    if "iterator_start_ns" in loader:
        begins = epoch_begins(measured.recording, loader)
        return float(np.median(np.diff(begins))) if len(begins) > 1 else NO_SECOND_EPOCH
    batches, begun = loader.get("batches_per_epoch"), len(loader.get("iterator_start_ms") or [])
    return batches / measured.fetches_per_step if batches and begun > 1 else NO_SECOND_EPOCH


def steps_into_epoch(measured: Measured) -> np.ndarray:
    """For each plain step how many steps of its epoch came before it: less than one where the
    step holds the end of the last epoch.

    A step lasts from one tick to the next, so the tick with number n ends the step of batch n + 1, and what
    comes next fetches batch n + 2. Raises Unknown where that is not recorded.
    """
    length, phase = measured.needed("epoch_step_count"), measured.recording.phase("plain")
    if phase is None:
        raise Unknown(NO_PLAIN_STEPS)
    if length < SHORTEST_EPOCH:
        raise Unknown(Missing("the epochs are too short to separate their ends from the rest"))
    first = phase["first_tick"] // measured.recording.ticks_per_step + 1
    numbers = first + np.arange(len(measured.recording.step_ns("plain")))
    begins = epoch_begins(measured.recording, known(feeding_loader(measured)))
    return steps_since(begins, numbers) if len(begins) else np.asarray(np.mod(numbers, length))


def at_epoch_ends(measured: Measured) -> np.ndarray:
    """Which plain steps hold an epoch's end, or follow it while the loader has not
    caught up; none where that is not known.
    """
    try:
        return steps_into_epoch(measured) < 2
    except Unknown:
        return np.zeros(len(measured.recording.step_ns("plain")), bool)
