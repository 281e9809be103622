"""What the script runs on and under: the machine, torch's settings, the environment."""

from __future__ import annotations

import glob
import math
import os
import platform
import re
from typing import Any

import torch

_VARIABLE_PREFIXES = (
    *("OMP_", "KMP_", "MKL_", "GOMP_", "OPENBLAS_", "CUDA_", "CUBLAS_", "NCCL_", "GLOO_", "PYTORCH_", "TORCH", "MALLOC_"),
    *("ACCELERATE_", "FSDP_"),  # by which `accelerate launch` tells its ranks what to do
)
_VARIABLES = ("LD_PRELOAD", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TOKENIZERS_PARALLELISM")
# what decides how threads run and memory is allocated
_QUOTA = "/sys/fs/cgroup/cpu.max"  # microseconds of processor time in each period
_NAMES = ("gomp", "iomp5", "omp", "mkl_rt", "openblas", "jemalloc", "tcmalloc", "tcmalloc_minimal", "tbbmalloc", "mimalloc")
_LIBRARIES = re.compile(rf"/(lib(?:{'|'.join(_NAMES)}))[-.][^/]*$", re.MULTILINE)


def _usable_cores() -> int:
    """Those of the process's affinity, or fewer if its container is granted less processor time than that."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open(_QUOTA, encoding="ascii") as file:
            quota, period = file.read().split()
        return min(cores, max(1, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no control groups, or no limit ("max")
        return cores


def environment() -> dict[str, Any]:
    cuda = torch.cuda.is_available()
    gpu = torch.cuda.get_device_properties(torch.cuda.current_device()) if cuda else None
    return {
        "torch_version": str(torch.__version__),
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "device": f"cuda:{torch.cuda.current_device()}" if cuda else "cpu",
        "gpu_available": cuda,
        "gpu_name": gpu.name if gpu else None,
        "gpu_capability": f"{gpu.major}.{gpu.minor}" if gpu else None,
        "gpu_memory_bytes": gpu.total_memory if gpu else None,
        "driver_version": _driver_version(),
        "cpu_core_count": _usable_cores(),
        "machine_core_count": os.cpu_count(),
        "numa_node_count": len(glob.glob("/sys/devices/system/node/node[0-9]*")) or None,
        "libraries": _libraries(),
        "thread_count": torch.get_num_threads(),
        "launch_blocking": os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "sync_debug_mode": torch.cuda.get_sync_debug_mode() if torch.cuda.is_initialized() else None,
        "environment_variables": {
            name: value for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLE_PREFIXES) or name in _VARIABLES
        },
    }


def _driver_version() -> str | None:
    """Of the NVIDIA kernel module, as Linux tells it."""
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _libraries() -> list[str] | None:
    """Those of `_LIBRARIES` that are loaded, without version and ending."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return sorted(set(_LIBRARIES.findall(file.read())))
    except OSError:
        return None
