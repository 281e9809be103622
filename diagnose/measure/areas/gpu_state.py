"""The GPU's state while the steps ran: clocks, throttling, and who else is on it.

Sampled by the recorder (run.json, `gpu_state`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diagnose.measure.measured import FactPlace, Measured, Value, fact_metric, fact_selector, metric
from diagnose.measure.missing import NO_FACTS, NO_GPU, ONLY_IN_A_RUN, Missing, known

NO_STATE = Missing(
    "the GPU's clocks and throttling were not sampled (that needs nvidia-smi)", in_trace=ONLY_IN_A_RUN
)
# NVML's nvmlClocksEventReasons: heat (software's and hardware's slowdown) and the hardware's protection,
# which halves the clock or worse. Its others are no fault. `sw_power_cap`: "optimized to ensure not to exceed
# currently set power limits", at which a GPU at full load runs, some below half of their highest clock (a
# T4's base clock is 585 of 1,590 MHz). Application clocks and sync boost are somebody's choice.
HEAT_OR_BRAKE = ("thermal", "hw_slowdown", "power_brake")
# a process's CUDA context, libraries and workspaces outside torch's allocator take 0.3 to 1 GiB
CONTEXT_BYTES = 2**30


def _state(measured: Measured, key: str) -> Any:
    state = measured.recording.run.get("gpu_state") or {}
    value = state.get(key)
    if value is None:
        return NO_STATE if measured.has_gpu or measured.recording.facts.get("gpu_available") else NO_GPU
    return value


def slowing(reasons: Sequence[str]) -> list[str]:
    """Those for which something is wrong."""
    return [reason for reason in reasons if any(word in reason.lower() for word in HEAT_OR_BRAKE)]


@metric("throttle_reasons", "", "Reasons why heat or a hardware protection lowered the GPU's clock")
def _throttle_reasons(measured: Measured) -> Value | Missing:
    reasons = _state(measured, "throttle_reasons")
    if isinstance(reasons, Missing):
        return reasons
    return ", ".join(slowing(reasons))


@metric("gpu_temperature_c", "°C", "Highest temperature of the GPU during the steps")
def _gpu_temperature_c(measured: Measured) -> Value | Missing:
    return _state(measured, "temperature_c_max")


@metric("gpu_clock_mhz", "MHz", "Median clock of the GPU during the steps")
def _gpu_clock_mhz(measured: Measured) -> Value | Missing:
    return _state(measured, "sm_clock_mhz_median")


@metric("gpu_clock_limit_mhz", "MHz", "Highest clock that this GPU supports")
def _gpu_clock_limit_mhz(measured: Measured) -> Value | Missing:
    return _state(measured, "sm_clock_mhz_max_supported")


@metric("missing_clock_share", "share", "Share of its highest clock that the GPU's median clock lacks")
def _missing_clock_share(measured: Measured) -> Value | Missing:
    clock, limit = (
        known(_state(measured, "sm_clock_mhz_median")),
        known(_state(measured, "sm_clock_mhz_max_supported")),
    )
    if not limit:
        return NO_STATE
    return max(0.0, 1 - float(clock) / float(limit))


@metric("power_share", "share", "Highest power of the GPU as a share of its power limit")
def _power_share(measured: Measured) -> Value | Missing:
    drawn, limit = known(_state(measured, "power_w_max")), known(_state(measured, "power_limit_w"))
    if not limit:
        return NO_STATE
    return float(drawn) / float(limit)


@fact_selector("lost_clock", "extra kernel time because the GPU's clock is below its highest")
def _lost_clock(measured: Measured) -> list[FactPlace] | Missing:
    """A kernel's time is in inverse proportion to the clock as far as it computes; one bound by
    memory loses less, so this is a bound.
    """
    return [FactPlace("", -1, "", 1.0, measured.row_ms("compute") * measured.needed("missing_clock_share"))]


@metric("other_gpu_process_count", "count", "Number of other programs with memory on the GPU")
def _other_gpu_process_count(measured: Measured) -> Value | Missing:
    return _state(measured, "other_process_count")


@metric(
    "gpu_memory_of_others_share",
    "share",
    "Share of the GPU's memory in use by other programs (1 GiB left out for this script's context)",
)
def _gpu_memory_of_others_share(measured: Measured) -> Value | Missing:
    used, whole = (
        known(_state(measured, "memory_used_bytes_max")),
        known(_state(measured, "memory_total_bytes")),
    )
    own = known(measured.fact("cuda_memory", NO_GPU)).get("peak_reserved_bytes")
    if own is None:
        return NO_STATE
    return max(0.0, (float(used) - float(own) - CONTEXT_BYTES) / float(whole))


@fact_selector("gpu_sharing", "other programs on the GPU")
def _gpu_sharing(measured: Measured) -> list[FactPlace] | Missing:
    return [FactPlace("", -1, "", measured.needed("other_gpu_process_count"), None)]


# ---- a GPU that is there and not used

fact_metric("gpu_available", "yes/no", "torch sees a GPU")


@metric("gpu_without_torch", "yes/no", "There is an NVIDIA GPU, and torch was built for the CPU only")
def _gpu_without_torch(measured: Measured) -> Value | Missing:
    built, count = known(measured.fact("torch_gpu_build")), known(measured.fact("nvidia_device_count"))
    return not built and count > 0


def gpu_bytes(measured: Measured) -> int:
    """What the script allocated on GPUs, as far as that was recorded."""
    told = ("accelerator", "allocated_bytes"), ("cuda_memory", "peak_allocated_bytes")
    return max(int((measured.recording.facts.get(fact) or {}).get(key) or 0) for fact, key in told)


@metric("gpu_holds_data", "yes/no", "A model or an optimizer is on a GPU, or memory was allocated there")
def _gpu_holds_data(measured: Measured) -> Value | Missing:
    facts = measured.recording.facts
    if not facts:
        return NO_FACTS
    devices = {
        str(fact.get("device"))
        for fact in [*(facts.get("models") or []), *(facts.get("optimizers") or [])]
        if fact.get("device")
    }
    return bool(devices - {"cpu", "meta"}) or gpu_bytes(measured) > 0


@metric("gpu_unseen", "yes/no", "The script allocated GPU memory, but no GPU work was recorded")
def _gpu_unseen(measured: Measured) -> Value | Missing:
    in_use, initialized = (
        measured.metric("gpu_in_use"),
        (measured.recording.facts.get("accelerator") or {}).get("initialized"),
    )
    if isinstance(in_use, Missing):
        return in_use
    asked_for_cpu = measured.metric("device_asked_for") == "cpu"
    return not in_use and not asked_for_cpu and initialized is not False and gpu_bytes(measured) > 0


@metric("device_asked_for", "", "Device given with `--device` (`auto` without)")
def _device_asked_for(measured: Measured) -> Value | Missing:
    return str((measured.recording.run.get("settings") or {}).get("device") or "auto")


@fact_selector("models_on_cpu", "models that run on the CPU")
def _models_on_cpu(measured: Measured) -> list[FactPlace] | Missing:
    models = known(measured.fact("models"))
    return [
        FactPlace(model["file"], model["line"], model["function"], 0.0, None)
        for model in models
        if model.get("device") == "cpu"
    ]
