"""Workers that end with a pass through their loader and are started anew for the next one, and passes of one
batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diagnose.measure.areas.input import feeding_loader, loop_line
from diagnose.measure.areas.input_rhythm import NO_SECOND_EPOCH
from diagnose.measure.epochs import epoch_begins, starts_each_epoch
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import Missing, known

MODEL_ROWS = ("forward", "backward", "optimizer")  # of the ledger
NEARLY_EACH_STEP = 1.5  # steps from one start of the loader to the next
SLOWED = 4  # batches after a start: training has then written to most of the memory that it writes to


@fact_selector(
    "epoch_starts",
    "starting and ending the workers of each epoch, beyond one ordinary fetch, and copying the memory that"
    " they share, spread over its steps; validation's too",
)
def _epoch_starts(measured: Measured) -> list[FactPlace] | Missing:
    """Without the first start, which includes what is loaded only once."""
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    if not loader["num_workers"]:
        return []
    starts_per_step = _starts_per_step(loader, measured)
    if isinstance(starts_per_step, Missing):
        return starts_per_step
    cost_ms = starts_per_step * _restart_ms(loader, measured, _fetch_ms(measured))
    others = _other_starts(measured) if _starts_anew(loader) else []
    return [FactPlace(*loop_line(measured), starts_per_step, cost_ms), *others]


@metric("one_batch_iterators", "yes/no", "Each iterator over the loader brings one batch of the many it has")
def _one_batch_iterators(measured: Measured) -> Value | Missing:
    """Not where that was not recorded."""
    loader = feeding_loader(measured)
    if isinstance(loader, Missing) or loader.get("batches_per_epoch") == 1:
        return False
    steps = measured.number("epoch_step_count")
    return 0 < steps <= NEARLY_EACH_STEP


@fact_selector(
    "one_batch_starts", "starting an iterator over the loader for each batch, beyond one ordinary fetch"
)
def _one_batch_starts(measured: Measured) -> list[FactPlace] | Missing:
    """Without the first start, which includes what is loaded only once. Workers that stay load ahead: then
    next to nothing is waited for. The model takes its time in any case.
    """
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    starts_per_step = _starts_per_step(loader, measured)
    if isinstance(starts_per_step, Missing):
        return starts_per_step
    fetch_ms = 0.0 if loader["num_workers"] else _fetch_ms(measured)
    cost_ms = starts_per_step * _restart_ms(loader, measured, fetch_ms)
    others_ms = sum(measured.row_ms(row) for row in MODEL_ROWS)
    at_most_ms = max(0.0, measured.number("step_ms") - others_ms)
    return [FactPlace(*loop_line(measured), starts_per_step, min(cost_ms, at_most_ms))]


@fact_selector(
    "other_loader_starts",
    "starting and ending workers of loaders beside the one that feeds the steps, if that starts none",
)
def _other_loader_starts(measured: Measured) -> list[FactPlace] | Missing:
    """Without the first start of each, which persistent workers pay too."""
    told_together = _starts_anew(known(feeding_loader(measured))) and measured.number("epoch_step_count") > 0
    return [] if told_together else _other_starts(measured)


def restarting_loaders(measured: Measured) -> list[dict[str, Any]]:
    """The loader that feeds the steps, and others that start workers again and again."""
    return [known(feeding_loader(measured)), *_others(measured)]


def _others(measured: Measured) -> list[dict[str, Any]]:
    feeding = known(feeding_loader(measured))
    return [
        loader
        for loader in measured.recording.facts["loaders"]
        if loader is not feeding
        and _starts_anew(loader)
        and len(epoch_begins(measured.recording, loader)) > 1
    ]


def _starts_anew(loader: dict[str, Any]) -> bool:
    return (
        loader["num_workers"] > 0
        and not loader.get("persistent_workers")
        and len(loader.get("iterator_start_ms") or []) > 1
    )


def _other_starts(measured: Measured) -> list[FactPlace]:
    places = []
    for loader in _others(measured):
        steps = float(np.median(np.diff(epoch_begins(measured.recording, loader))))
        starts_per_step = starts_each_epoch(measured.recording, loader) / steps
        cost_ms = starts_per_step * _restart_ms(loader, measured, fetch_ms=0.0)
        places.append(
            FactPlace(loader["file"], int(loader["line"]), loader["function"], starts_per_step, cost_ms)
        )
    return places


def _starts_per_step(loader: dict[str, Any], measured: Measured) -> float | Missing:
    """How often the loader that feeds the steps is begun in one; its first start tells nothing."""
    epoch_steps = measured.needed("epoch_step_count")
    if len(loader.get("iterator_start_ms") or []) < 2:
        return NO_SECOND_EPOCH
    return starts_each_epoch(measured.recording, loader) / epoch_steps


def _fetch_ms(measured: Measured) -> float:
    """0 where that is not known."""
    return max(0.0, float(np.nan_to_num(measured.number("fetch_ms"))))


def _restart_ms(loader: dict[str, Any], measured: Measured, fetch_ms: float) -> float:
    """What a start of its workers takes until the first batch, beyond loading this, what ending them takes,
    and what the system does in between.
    """
    until_batch_ms = max(0.0, float(np.median(loader["iterator_start_ms"][1:])) - fetch_ms)
    ends_ms = loader.get("iterator_end_ms")
    return until_batch_ms + (float(np.median(ends_ms)) if ends_ms else 0.0) + _copying_ms(loader, measured)


def _copying_ms(loader: dict[str, Any], measured: Measured) -> float:
    """What the batches after a start take while the system copies memory that was shared with the workers;
    0 where no start was followed by more batches than are slowed.

    It is their processor time in the system beyond that of later batches. The training thread does between
    all of the copying and one thread's part of it: 400 MB took two cores' threads 0.7 to 1 s each, and one
    thread alone 0.4 to 0.5 (`python -m benchmarks forked-memory`).
    """
    after_starts_ms = [ms for ms in loader.get("system_ms_after_start", [])[1:] if len(ms) > SLOWED]
    if not after_starts_ms:
        return 0.0
    later_ms = float(np.median(np.concatenate([ms[SLOWED:] for ms in after_starts_ms])))
    beyond_ms = float(np.median([sum(ms[:SLOWED]) for ms in after_starts_ms])) - SLOWED * later_ms
    threads = measured.number("thread_count")
    share = (1 + 1 / threads) / 2 if threads >= 1 else 1.0
    return max(0.0, beyond_ms) * share
