"""What the script runs on and under: the machine, torch's settings, the environment."""

from __future__ import annotations

import glob
import math
import os
import platform
import re
from collections.abc import Callable
from typing import Any

import torch

from .. import accelerator
from ..guard import attempt
from ..unwarned import unwarned

_VARIABLE_PREFIXES = (
    *(
        "OMP_",
        "KMP_",
        "MKL_",
        "GOMP_",
        "OPENBLAS_",
        "CUDA_",
        "CUBLAS_",
        "NCCL_",
        "GLOO_",
        "PYTORCH_",
        "TORCH",
        "MALLOC_",
    ),
    *("ACCELERATE_", "FSDP_"),  # by which `accelerate launch` tells its ranks what to do
)
_VARIABLES = ("LD_PRELOAD", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TOKENIZERS_PARALLELISM")
# what decides how threads run and memory is allocated
_DRIVER = "/sys/module/nvidia/version"
_DEVICES = "/dev/nvidia[0-9]*"
_QUOTA = "/sys/fs/cgroup/cpu.max"  # microseconds of processor time in each period
_NAMES = (
    "gomp",
    "iomp5",
    "omp",
    "mkl_rt",
    "openblas",
    "jemalloc",
    "tcmalloc",
    "tcmalloc_minimal",
    "tbbmalloc",
    "mimalloc",
)
_LIBRARIES = re.compile(rf"/(lib(?:{'|'.join(_NAMES)}))[-.][^/]*$", re.MULTILINE)


def usable_cores() -> int:
    """Those of the process's affinity, or fewer if its container is granted less processor time than that."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open(_QUOTA, encoding="ascii") as file:
            quota, period = file.read().split()
        return min(cores, max(1, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no control groups, or no limit ("max")
        return cores


def available_memory_bytes() -> int | None:
    """What programs can still use without swapping; None where the kernel does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next((line for line in file if line.startswith("MemAvailable:")), "")
    except OSError:
        return None
    return int(line.split()[1]) * 1024 if line else None


def environment() -> dict[str, Any]:
    """Each fact by itself: one that cannot be read is None, and a note says so."""
    with unwarned():
        return {name: attempt(f"reading {name} of this machine", read, None) for name, read in _FACTS.items()}


def _device() -> str:
    used = accelerator.devices()
    return accelerator.name(used[0]) if used else "cpu"


def _gpu_available() -> bool | None:
    count = accelerator.gpu_count()
    return None if count is None else count > 0


def _gpu(what: str) -> Any:
    """One of the properties of the GPU in use; None where none is, or torch does not tell."""
    used = accelerator.devices()
    return getattr(accelerator.properties(used[0]), what, None) if used else None


def _capability() -> str | None:
    major, minor = _gpu("major"), _gpu("minor")
    return f"{major}.{minor}" if major is not None else None


def _matmul_precision() -> str:
    """In the words of `torch.set_float32_matmul_precision`. Once a script has used the settings that torch
    2.9 brought, asking the old one raises an error.
    """
    told = str(getattr(torch.backends.cuda.matmul, "fp32_precision", "none"))
    if told in _PRECISIONS:
        return _PRECISIONS[told]
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:
        return "highest"  # what holds where the new setting says nothing


def _cudnn_allow_tf32() -> bool:
    told = str(getattr(getattr(torch.backends.cudnn, "conv", None), "fp32_precision", "none"))
    return told == "tf32" if told in _PRECISIONS else bool(torch.backends.cudnn.allow_tf32)


def _variables() -> dict[str, str]:
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(_VARIABLE_PREFIXES) or name in _VARIABLES
    }


def _driver_version() -> str | None:
    """Of the NVIDIA kernel module, as Linux tells it."""
    try:
        with open(_DRIVER, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _nvidia_devices() -> int:
    """Those that this process, or its container, is given."""
    return len(glob.glob(_DEVICES))


def _libraries() -> list[str] | None:
    """Those of `_LIBRARIES` that are loaded, without version and ending."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return sorted(set(_LIBRARIES.findall(file.read())))
    except OSError:
        return None


_PRECISIONS = {"ieee": "highest", "tf32": "high", "bf16": "medium"}
_FACTS: dict[str, Callable[[], Any]] = {
    "torch_version": lambda: str(torch.__version__),
    "python_version": platform.python_version,
    "platform": platform.platform,
    "device": _device,
    "gpu_available": _gpu_available,
    "gpu_name": lambda: _gpu("name"),
    "gpu_capability": _capability,
    "gpu_memory_bytes": lambda: _gpu("total_memory"),
    "driver_version": _driver_version,
    "nvidia_device_count": _nvidia_devices,
    "torch_gpu_build": lambda: bool(torch.version.cuda or torch.version.hip or torch.version.xpu),
    "cpu_core_count": usable_cores,
    "machine_core_count": os.cpu_count,
    "memory_available_bytes": available_memory_bytes,
    "numa_node_count": lambda: len(glob.glob("/sys/devices/system/node/node[0-9]*")) or None,
    "libraries": _libraries,
    "thread_count": torch.get_num_threads,
    "launch_blocking": lambda: os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"),
    "deterministic": torch.are_deterministic_algorithms_enabled,
    "matmul_precision": _matmul_precision,
    "cudnn_benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn_allow_tf32": _cudnn_allow_tf32,
    "cudnn_deterministic": lambda: torch.backends.cudnn.deterministic,
    "sync_debug_mode": accelerator.sync_debug_mode,
    "environment_variables": _variables,
}
