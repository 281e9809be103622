"""From the ends of steps to one number a run: the mean time of the same
steps, once the script runs steadily.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Trial = dict[str, Any]  # what `diagnose.verify.trial.run_trial` returns

A_FEW = 2  # batches more or less that are ready: as workers happen to end them
BATCH = 5  # steps that MSER-5 averages over
MANY_STEPS = 10 * BATCH  # from which there are enough such averages


def step_ms(trial: Trial, ticks_per_step: int) -> np.ndarray:
    """The durations of the second step and all later ones: on the GPU's clock where the
    script uses one, else on the host's.
    """
    ends = np.asarray(
        trial["device_ms"] if trial["device_ms"] else np.asarray(trial["tick_ns"], dtype=np.float64) / 1e6
    )
    return np.diff(ends[ticks_per_step - 1 :: ticks_per_step])


def untimed_steps(trial: Trial, wanted: int) -> int:
    """At the begin of a run: as many as wanted, and until all batches are used up that workers may have had
    ready before the first step. To take those is no gain that would last.
    """
    ahead = trial.get("fetched_ahead", 0)
    return max(wanted, ahead + 1) if ahead else wanted


def work_ms(trial: Trial, ticks_per_step: int, first: int, last: int) -> float | None:
    """Processor time of the script's processes, children included, ms a step: of the steps from `first` to
    `last` (as `step_ms` counts them), as far as samples were taken; None where too few were.
    """
    begin, end = (first + 1) * ticks_per_step, (last + 1) * ticks_per_step
    inside = [(tick, ns) for tick, ns in trial.get("work") or [] if begin <= tick <= end]
    if len(inside) < 2 or inside[-1][0] - inside[0][0] < (end - begin) / 2:
        return None
    ticks, ns = inside[-1][0] - inside[0][0], inside[-1][1] - inside[0][1]
    return ns * ticks_per_step / ticks / 1e6 if ns > 0 else None


def lasting_ratio(trial: Trial, ticks_per_step: int, first: int, last: int) -> float:
    """What a step takes in the long run ÷ what it took, of the steps from `first` to `last` (as `step_ms`
    counts them): a script that is faster than its workers lives on batches they had ready, and once those are
    used up it waits for them. More than a few used up are so many that were not fetched meanwhile.
    """
    begin, end = (first + 1) * ticks_per_step, (last + 1) * ticks_per_step
    inside = [sample for sample in trial.get("supply") or [] if begin <= sample[0] <= end]
    if len(inside) < 2:
        return 1.0
    (_, taken_before, ready_before), (_, taken, ready) = inside[0], inside[-1]
    count, used_up = taken - taken_before, ready_before - ready
    return count / (count - used_up) if A_FEW < used_up < count else 1.0


def samples_ratio(before: Trial, after: Trial) -> float:
    """Samples of a step as it is ÷ of one with a fix that changes the batch size: brings
    the latter's time to as many samples.
    """
    sizes = before.get("batch_size"), after.get("batch_size")
    return sizes[0] / sizes[1] if sizes[0] and sizes[1] else 1.0


def steady_from(series_ms: np.ndarray) -> int:
    """The first step that belongs to the steady state: the truncation with the least standard error of what
    is left, but never more than half (MSER-5: White, Cobb & Spratt 2000, "A comparison of five steady-state
    truncation heuristics for simulation").
    """
    size = BATCH if len(series_ms) >= MANY_STEPS else 1
    count = len(series_ms) // size
    if count < 4:
        return 0
    means = series_ms[len(series_ms) - count * size :].reshape(count, size).mean(axis=1)
    errors = [float(np.var(means[cut:])) / (count - cut) for cut in range(count // 2 + 1)]
    cut = int(np.argmin(errors))
    return len(series_ms) - (count - cut) * size if cut else 0


def mean_steps_ms(
    before: Sequence[np.ndarray], after: Sequence[np.ndarray], untimed: int
) -> tuple[list[float], list[float], int, int]:
    """Each run's mean over the same steps, and which these are: from, to (as `step_ms` counts them).

    The cut is the later one of the arms', each taken from the median run, so that
    one disturbed run does not move it.
    """
    last = min(map(len, [*before, *after]))
    first = max(
        untimed, *(steady_from(np.median([run[:last] for run in arm], axis=0)) for arm in (before, after))
    )
    first = min(first, last - 1)
    means = [[float(run[first:last].mean()) for run in arm] for arm in (before, after)]
    return means[0], means[1], first, last
