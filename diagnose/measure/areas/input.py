"""Input: the data loader, what it costs and what it could cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.areas.user_code import places_of
from diagnose.measure.fetches import fetches_in
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_FACTS, NO_PLAIN_STEPS, ONLY_IN_A_RUN, Missing, known
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.sources import Sources
from diagnose.measure.view import Rows

NO_LOADER = Missing("no torch DataLoader was used")
NO_FETCH = Missing("no batch was fetched during the recorded steps", in_trace=ONLY_IN_A_RUN)
# of the step: a fetch divided among so many workers that less than this is left of it needs no more of them
WORTH_HIDING = 0.1
SPARE_CORE = 0.25  # with less of a core idle, another process mostly takes time from the training thread
TURN_MS = 8.0  # so long may another process have the core before this one's turn, twice Linux's 4 ms
MOSTLY_WAITS = 0.5  # of a fetch: one that works less than this leaves its core to the step


@selector(
    "input_wait",
    "waiting for the next batch (the loader's `__next__` on the training thread)",
    attributed=ledger_row("input_wait"),
)
def input_waits(view: Selection) -> Rows:
    return view.once_each(view.loader_next & view.on_training_thread)


def feeding_loader(measured: Measured) -> dict[str, Any] | Missing:
    """The loader that feeds the steps: the one that brought batches in most of them; where
    that was not recorded, the largest.
    """
    if not measured.recording.facts:
        return NO_FACTS
    loaders = measured.recording.facts.get("loaders") or []
    return max(loaders, key=_steadiness) if loaders else NO_LOADER


def _steadiness(loader: dict[str, Any]) -> tuple[float, ...]:
    """Of two loaders that feed the same steps, or that were not counted, the larger one is told of."""
    return tuple(loader.get(name) or 0 for name in ("fed_share", "batches_per_step", "dataset_length"))


@metric("loader_worker_count", "count", "Number of workers of the DataLoader that feeds the steps")
def _loader_worker_count(measured: Measured) -> Value | Missing:
    loader = feeding_loader(measured)
    if not isinstance(loader, Missing):
        return int(loader["num_workers"])
    return _worker_count_from_names(measured) if loader is NO_FACTS else loader


@metric("loader_known", "yes/no", "How the loader was made was recorded (never in a trace)")
def _loader_known(measured: Measured) -> Value | Missing:
    return not isinstance(feeding_loader(measured), Missing)


@metric("loader_place", "", "Line that makes this DataLoader")
def _loader_place(measured: Measured) -> Value | Missing:
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    if not loader.get("file"):
        return Missing("no line of your code makes the loader")
    return f"{Sources(measured.recording).shown(loader['file'])}:{loader['line']}"


def _worker_count_from_names(measured: Measured) -> Value | Missing:
    """A trace tells a loader without workers by the name of its iterator, and no more than that."""
    view = measured.timeline
    if view is not None and view.name_matches(r"#_SingleProcessDataLoaderIter").any():
        return 0
    return ONLY_IN_A_RUN


@metric("fetch_ms", "ms", "Time to load one batch: read its samples and collate them")
def _fetch_ms(measured: Measured) -> Value | Missing:
    for phase in ("plain", "timeline"):
        if (fetch_ms := measured.fetch_ms(phase)) > 0:
            return fetch_ms
    return NO_FETCH


@metric(
    "fetch_busy_share",
    "share",
    "Share of loading time in which a CPU works (the rest waits for files or a server)",
)
def _fetch_busy_share(measured: Measured) -> Value | Missing:
    fetches = plain_fetch_rows(measured)
    if not len(fetches):
        return NO_FETCH
    if fetches["cpu_ns"].isna().any():
        return _busy_share_of_workers(measured)
    if measured.metric("crowded") is True:
        return Missing("other processes kept every core busy: a delayed fetch looks like one that waits")
    return min(1.0, float(fetches["cpu_ns"].sum()) / max(float(fetches["dur_ns"].sum()), 1.0))


def _busy_share_of_workers(measured: Measured) -> Value | Missing:
    """At most what the machine worked for other processes than this one, all of it for its workers."""
    workers = measured.number("loader_worker_count") * measured.number("worker_busy_share")
    of_machine = measured.recording.facts.get("machine_core_count") or measured.number("cpu_core_count")
    others = measured.number("machine_busy_share") * of_machine - measured.number("cpu_cores_used")
    if not (workers > 0 and others >= 0):
        return Missing("the CPU time of fetches was not recorded")
    return min(1.0, others / workers)


@metric(
    "suggested_workers",
    "count",
    "Number of workers that hide loading: ⌈fetch ÷ rest of the step⌉ + 1, at most what free cores can run",
)
def _suggested_workers(measured: Measured) -> Value | Missing:
    work_ms, step_ms = measured.needed("fetch_ms") * measured.fetches_per_step, measured.needed("step_ms")
    compute_ms = max(step_ms - measured.needed("input_wait_ms"), WORTH_HIDING * step_ms)
    return int(max(1, min(math.ceil(work_ms / compute_ms) + 1, _most_workers(measured, work_ms, compute_ms))))


def _most_workers(measured: Measured, work_ms: float, compute_ms: float) -> float:
    """Workers that the cores can run beside the computing; all the cores where their use was not recorded.

    Where loading takes longer than the computing, this waits, and leaves its cores to the workers meanwhile.
    """
    busy = measured.number("fetch_busy_share")
    busy = max(busy, 0.01) if busy >= 0 else 1.0  # waiting for files or a server leaves the core to others
    computing = measured.number("computing_cores")
    if math.isnan(computing):
        return measured.needed("cpu_core_count") / busy
    available = measured.needed("available_cores")
    if busy <= MOSTLY_WAITS:
        return available / busy
    share = min(1.0, compute_ms * available / max(busy * work_ms, 1e-9))
    return max(0.0, math.ceil((available - computing * share) / busy - SPARE_CORE))


@metric("missing_workers", "count", "Suggested workers less the workers there are")
def _missing_workers(measured: Measured) -> Value | Missing:
    return measured.needed("suggested_workers") - measured.needed("loader_worker_count")


@metric("more_workers", "count", "Suggested number of workers, if it is higher and a core is free")
def _more_workers(measured: Measured) -> Value | Missing:
    if measured.needed("missing_workers") <= 0:
        return Missing("the loader already has the suggested number of workers")
    return (
        measured.metric("suggested_workers")
        if measured.metric("core_for_workers") is True
        else Missing("every core is in use")
    )


@metric("loading_ms", "ms", "Time per step spent waiting for batches")
def _loading_ms(measured: Measured) -> Value | Missing:
    wait_ms, fetch_ms = measured.needed("input_wait_ms"), measured.number("fetch_ms")
    in_main_process = fetch_ms > 0 and measured.metric("loader_worker_count") == 0
    return min(wait_ms, fetch_ms * measured.fetches_per_step) if in_main_process else wait_ms


@metric("loading_share", "share", "Share of the step spent waiting for batches")
def _loading_share(measured: Measured) -> Value | Missing:
    return measured.needed("loading_ms") / measured.number("step_ms")


# ---- workers and the cores for them


@metric(
    "core_for_workers",
    "yes/no",
    "A CPU core is free for a worker, or a worker needs hardly any (assumed where that was not recorded)",
)
def _core_for_workers(measured: Measured) -> Value | Missing:
    free, busy = measured.number("free_core_count"), measured.number("fetch_busy_share")
    if measured.number("loader_worker_count") > 0:
        taken = measured.number("cpu_core_count") - measured.number("available_cores")
        free = measured.number("idle_core_count") - taken
    return math.isnan(free) or free >= SPARE_CORE or busy <= MOSTLY_WAITS


@metric("worker_busy_share", "share", "Share of the workers' time spent loading, while steps were timed")
def _worker_busy_share(measured: Measured) -> Value | Missing:
    workers, phase = measured.metric("loader_worker_count"), measured.recording.phase("plain")
    if isinstance(workers, Missing):
        return workers
    if workers == 0:
        return 0.0
    if phase is None:
        return NO_PLAIN_STEPS
    took = plain_fetches(measured)
    whole_ns = phase["tick_ns"][-1] - phase["tick_ns"][0]
    return min(1.0, float(took.sum()) / (float(workers) * whole_ns)) if len(took) else NO_FETCH


def plain_fetches(measured: Measured) -> np.ndarray:
    """How long those of `plain_fetch_rows` took, ns."""
    return plain_fetch_rows(measured)["dur_ns"].to_numpy().astype(np.int64)


def plain_fetch_rows(measured: Measured) -> pd.DataFrame:
    """The fetches that feed the plain steps, but for each worker's first, which includes its start."""
    fetches = measured.recording.fetches
    starting = (fetches["in_worker"] > 0) & ~fetches["pid"].duplicated()
    plain = fetches_in(measured.recording, "plain")
    return plain[~starting[plain.index]]


def undelayed_ms(fetches: pd.DataFrame) -> np.ndarray:
    """How long each takes that has a core to itself, ms: what it works, or waits for files or a server.

    Where delays were not recorded, a wait for longer than another process's turn was one for files.
    """
    took_ms, delay_ms = fetches["dur_ns"].to_numpy() / 1e6, fetches["delay_ns"].to_numpy() / 1e6
    return np.maximum(worked_ms(fetches), took_ms - np.where(delay_ms < 0, TURN_MS, delay_ms))


def worked_ms(fetches: pd.DataFrame) -> np.ndarray:
    """The processor time of each, ms; all of its time where that was not recorded."""
    return fetches["cpu_ns"].fillna(fetches["dur_ns"]).to_numpy() / 1e6


@metric("workers_per_core", "ratio", "Workers per available CPU core")
def _workers_per_core(measured: Measured) -> Value | Missing:
    return measured.needed("loader_worker_count") / measured.needed("cpu_core_count")


@metric("persistent_workers", "yes/no", "The loader has persistent workers")
def _persistent_workers(measured: Measured) -> Value | Missing:
    return bool(known(feeding_loader(measured)).get("persistent_workers"))


@metric("prefetch_factor", "count", "Number of batches that each worker loads ahead")
def _prefetch_factor(measured: Measured) -> Value | Missing:
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    return (
        int(loader["prefetch_factor"])
        if loader.get("prefetch_factor")
        else Missing("the loader has no workers")
    )


def loop_line(measured: Measured) -> tuple[str, int, str]:
    """The line that takes batches from the loader."""
    view = measured.timeline
    lines = places_of(view, input_waits(view)) if view is not None else []
    return (lines[0].file, lines[0].line, lines[0].function) if lines else ("", -1, "")


# ---- what is wrong with a loader whatever it costs


@metric("batch_pinned_in_vain", "yes/no", "The loader should pin batches, but torch cannot pin their class")
def _batch_pinned_in_vain(measured: Measured) -> Value | Missing:
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    return bool(loader.get("pin_memory")) and loader.get("batch_pinnable") is False


@metric("iterable_copies", "count", "Times that each sample of an iterable dataset is loaded")
def _iterable_copies(measured: Measured) -> Value | Missing:
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    # torch's data pipes are shared out by the loader where they say so (sharding_filter).
    shared_out = (
        not loader.get("iterable")
        or loader.get("worker_info_used")
        or str(loader.get("dataset")).endswith("IterDataPipe")
    )
    return 1 if shared_out else max(1, int(loader["num_workers"]))


@metric("ranks_with_same_data", "count", "Ranks whose loaders each go through the whole dataset")
def _ranks_with_same_data(measured: Measured) -> Value | Missing:
    """1 unless torch's own samplers draw from a dataset that is no `Subset`: scripts may share out."""
    loader, ranks = feeding_loader(measured), measured.needed("ddp_rank_count")
    if isinstance(loader, Missing):
        return loader
    draws_all = loader.get("sampler") in ("RandomSampler", "SequentialSampler") and not loader.get("iterable")
    shared_out = loader.get("distributed_sampler") or loader.get("dataset") == "Subset"
    return int(ranks) if draws_all and not shared_out else 1


@fact_selector("loader_made", "the call that makes the loader of the steps")
def _loader_made(measured: Measured) -> list[FactPlace] | Missing:
    loader = feeding_loader(measured)
    if isinstance(loader, Missing):
        return loader
    return [
        FactPlace(
            loader.get("file") or "", int(loader.get("line") or -1), loader.get("function") or "", 0.0, None
        )
    ]
