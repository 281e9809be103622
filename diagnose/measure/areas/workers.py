"""Workers: what processes that load beside the step find free, and what a batch from them costs."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.input import (
    NO_FETCH,
    NO_LOADER,
    feeding_loader,
    plain_fetch_rows,
    undelayed_ms,
    worked_ms,
)
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import Missing, Unknown, known
from diagnose.measure.recording import FETCH_ASKED, FETCH_DRAWS

# Taking a batch over from a worker and packing it there, by hand: batches of 1 to 64 tensors and of 400 bytes
# to 100 MB, on two cores, torch 2.13. Every tensor is a file to send and map, every page touched anew.
TAKE_MS, TAKE_TENSOR_MS, TAKE_MB_MS = 0.35, 0.12, 0.08
PACK_MS, PACK_TENSOR_MS, PACK_MB_MS = 0.2, 0.1, 1.0
# taking a sample from memory and collating it, ms, and copying its bytes
STORED_ITEM_MS, COPIED_MB_MS = 0.003, 0.06
BYTES_PER_MB = 1e6
SLOWED_AT_MOST = 0.5  # of the computing there is: workers make it twice as long at most (decision 79)
LOSS_THAT_COUNTS = 0.1  # of the step: as the rule for workers that are not needed has it
TAKEN_DELAYS = 2.0  # as much as its share of the cores
SPARE_CORES = 0.5  # so many leave workers room
LEAST_CORES = 1.0  # however many programs run: the system shares the cores out among them


@metric("available_cores", "count", "Number of CPU cores that other programs leave to this script")
def _available_cores(measured: Measured) -> Value | Missing:
    cores, others = measured.needed("cpu_core_count"), measured.number("others_busy_share")
    of_machine = measured.recording.facts.get("machine_core_count") or cores
    return max(LEAST_CORES, cores - (others * of_machine if others > 0 else 0.0))


@metric("computing_cores", "count", "Number of CPU cores in use while the step computes, without loading")
def _computing_cores(measured: Measured) -> Value | Missing:
    used, steps_ns = measured.needed("cpu_cores_used"), measured.recording.step_ns("plain")
    computed_ms = used * (float(np.mean(steps_ns)) / 1e6 if len(steps_ns) else measured.needed("step_ms"))
    if measured.metric("loader_worker_count") == 0:
        computed_ms -= fetch_cpu_ms(measured)
    computing_ms = measured.needed("step_ms") - measured.needed("input_wait_ms")
    if computing_ms <= 0:
        return Missing("the step does nothing but wait for batches")
    threads = measured.number("thread_count")
    most = min(measured.needed("cpu_core_count"), threads if threads >= 1 else np.inf)
    return float(np.clip(computed_ms / computing_ms, 1.0, max(most, 1.0)))


@metric(
    "parallel_share", "share", "Share of the computing that keeps every core busy, so that a worker slows it"
)
def _parallel_share(measured: Measured) -> Value | Missing:
    cores, computing = measured.needed("cpu_core_count"), measured.needed("computing_cores")
    threads = min(measured.needed("thread_count"), cores)
    return float((computing - 1) / (threads - 1)) if threads > 1 and threads + 1 > cores else 0.0


@metric("free_core_count", "count", "Number of CPU cores that are free while the step computes")
def _free_core_count(measured: Measured) -> Value | Missing:
    return max(0.0, measured.needed("available_cores") - measured.needed("computing_cores"))


def fetch_cpu_ms(measured: Measured) -> float:
    """Processor time that fetching takes, ms per step; all the fetches' time where it was not recorded."""
    fetches = plain_fetch_rows(measured)
    if not len(fetches):
        return max(0.0, float(np.nan_to_num(measured.number("fetch_ms")))) * measured.fetches_per_step
    return float(worked_ms(fetches).mean()) * measured.fetches_per_step


@metric(
    "cores_taken_share", "share", "Share of the step that workers load on cores which the computing needs"
)
def _cores_taken_share(measured: Measured) -> Value | Missing:
    """None of it without workers, or with cores for them. An operator's threads wait for the one whose core
    is taken: on two cores a step became faster by all the CPU time that its fetches took, twice its share of
    the cores. With more cores it is not known, and counts the same.
    """
    if not measured.number("loader_worker_count") > 0 or measured.number("free_core_count") >= SPARE_CORES:
        return 0.0
    of_cores = fetch_cpu_ms(measured) / (measured.needed("available_cores") * measured.needed("step_ms"))
    return min(1.0, TAKEN_DELAYS * of_cores)


# ---- the hand-over


@metric(
    "handover_ms", "ms", "Time to take one batch over from a worker, by its tensors and bytes (calibrated)"
)
def _handover_ms(measured: Measured) -> Value | Missing:
    tensors, megabytes = _batch_size(measured)
    return TAKE_MS + TAKE_TENSOR_MS * tensors + TAKE_MB_MS * megabytes


def packing_ms(measured: Measured) -> float:
    """What packing a batch for the hand-over takes in the worker, ms; 0 if its size was not recorded."""
    try:
        tensors, megabytes = _batch_size(measured)
    except Unknown:
        return 0.0
    return PACK_MS + PACK_TENSOR_MS * tensors + PACK_MB_MS * megabytes


def _batch_size(measured: Measured) -> tuple[int, float]:
    """Tensors in a batch, and their megabytes. Raises Unknown where that was not recorded."""
    loader = known(feeding_loader(measured))
    if loader.get("batch_bytes") is None:
        raise Unknown(Missing("the size of a batch was not recorded"))
    return int(loader["batch_tensor_count"]), loader["batch_bytes"] / BYTES_PER_MB


@metric("loading_on_the_spot_ms", "ms", "Time per step to load the batches without workers")
def _loading_on_the_spot_ms(measured: Measured) -> Value | Missing:
    """What a fetch works and waits for files or a server.

    Where it was not recorded how long it waited for a core, that looks alike: waits of a turn of another
    process count only where the usual fetch waits too.
    """
    fetches = plain_fetch_rows(measured)
    if not len(fetches):
        return NO_FETCH
    spot_ms = float(undelayed_ms(fetches).mean())
    if (fetches["delay_ns"] < 0).any():
        work_ms = worked_ms(fetches)
        waits_ms = np.median(fetches["dur_ns"].to_numpy() / 1e6 - work_ms)
        spot_ms = max(spot_ms, float(work_ms.mean() + waits_ms))
    return spot_ms * measured.fetches_per_step


@metric(
    "worker_loss_share",
    "share",
    "Share of the step that waiting for workers and their use of busy cores take beyond loading on the spot",
)
def _worker_loss_share(measured: Measured) -> Value | Missing:
    step_ms = measured.needed("step_ms")
    steady_ms = measured.needed("steady_wait_share") * step_ms
    slowed_ms = min(_work_on_busy_cores_ms(measured), (step_ms - steady_ms) * SLOWED_AT_MOST)
    return (steady_ms + slowed_ms - measured.needed("loading_on_the_spot_ms")) / step_ms


@metric(
    "starts_outweigh",
    "yes/no",
    "Starting workers anew takes more than what they take of a step beyond loading on the spot",
)
def _starts_outweigh(measured: Measured) -> Value | Missing:
    return measured.number("epoch_starts_share") > measured.needed("worker_loss_share")


@metric(
    "workers_pay",
    "yes/no",
    "Workers are not known to take more than loading on the spot, or no more than their starts",
)
def _workers_pay(measured: Measured) -> Value | Missing:
    loss = measured.metric("worker_loss_share")
    is_small = isinstance(loss, Missing) or float(loss) < LOSS_THAT_COUNTS
    return is_small or measured.metric("starts_outweigh") is True


@metric(
    "spot_as_fast", "yes/no", "Loading on the spot is known to take no longer than workers take of the step"
)
def _spot_as_fast(measured: Measured) -> Value | Missing:
    loss = measured.metric("worker_loss_share")
    return not isinstance(loss, Missing) and float(loss) > 0


def _work_on_busy_cores_ms(measured: Measured) -> float:
    """What workers do of loading and packing while every core computes the step: a core that they take then
    is missing. 0 where that is not known.
    """
    parallel = measured.number("parallel_share")
    work_ms = fetch_cpu_ms(measured) + packing_ms(measured) * measured.fetches_per_step
    return parallel * work_ms if parallel > 0 and measured.needed("loader_worker_count") else 0.0


# ---- samples that are the same in every epoch


@metric("fetch_draws_random", "yes/no", "Loading a batch draws random numbers")
def _fetch_draws_random(measured: Measured) -> Value | Missing:
    """Not where no loader loads."""
    found = feeding_loader(measured)
    if found is NO_LOADER and "loaders" in measured.recording.facts:
        return False
    loader = known(found)
    draws = loader.get("draws_random")
    if draws is None and loader.get("num_workers"):
        draws = _drawn_in_workers(measured)
    return Missing("whether loading draws random numbers was not recorded") if draws is None else bool(draws)


def _drawn_in_workers(measured: Measured) -> bool | None:
    """Whether a worker of any loader has drawn, as far as they were asked."""
    flags = measured.recording.fetches["in_worker"].to_numpy()
    return bool((flags & FETCH_DRAWS).any()) if (flags & FETCH_ASKED).any() else None


@metric("sampling_share", "share", "Share of a fetch in which samples are loaded, before they are collated")
def _sampling_share(measured: Measured) -> Value | Missing:
    """All of it with torch's collating, of which `left_when_cached` knows what it takes."""
    loader = known(feeding_loader(measured))
    collate, collating = loader.get("collate"), loader.get("collating_share")
    if collate == "default":
        return 1.0
    return Missing("what collating takes was not recorded") if collating is None else 1 - float(collating)


@metric("item_fetch_ms", "ms", "Time to load one sample")
def _item_fetch_ms(measured: Measured) -> Value | Missing:
    return measured.needed("fetch_ms") * measured.needed("sampling_share") / _samples_per_batch(measured)


@metric("cached_bytes", "bytes", "Memory that all samples take as the loader returns them")
def _cached_bytes(measured: Measured) -> Value | Missing:
    _, megabytes = _batch_size(measured)
    samples = known(feeding_loader(measured)).get("dataset_length")
    if not samples:
        return Missing("how many samples there are was not recorded")
    return megabytes * BYTES_PER_MB / _samples_per_batch(measured) * samples


@metric("cache_memory_share", "share", "Share of the free memory that all samples take")
def _cache_memory_share(measured: Measured) -> Value | Missing:
    return measured.needed("cached_bytes") / float(known(measured.fact("memory_available_bytes")))


@metric(
    "left_when_cached", "ratio", "Part of the loading of samples that is left when they are taken from memory"
)
def _left_when_cached(measured: Measured) -> Value | Missing:
    _, megabytes = _batch_size(measured)
    sampling = measured.needed("sampling_share")
    stored_ms = STORED_ITEM_MS * _samples_per_batch(measured) + COPIED_MB_MS * megabytes * (sampling == 1)
    return min(1.0, stored_ms / max(measured.needed("fetch_ms") * sampling, 1e-9))


def _samples_per_batch(measured: Measured) -> int:
    """Raises Unknown where the loader makes no batches of samples."""
    samples = known(feeding_loader(measured)).get("batch_size")
    if not samples:
        raise Unknown(Missing("the loader does not make batches of single samples"))
    return int(samples)
