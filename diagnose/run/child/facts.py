"""What no trace holds: settings, loaders, optimizers, models, and what was observed while the marks were installed."""

from __future__ import annotations

import os
import platform
import sys
import weakref
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import Optimizer
from torch.utils.data import DataLoader, IterableDataset, dataloader

from .fetch import FetchLog
from .live import Live
from .models import CallCounts, model_facts
from .patching import Patches
from .places import Place, Places
from .writing import write_json

_VARIABLE_PREFIXES = ("OMP_", "KMP_", "MKL_", "GOMP_", "OPENBLAS_", "CUDA_", "CUBLAS_", "NCCL_", "GLOO_", "PYTORCH_", "TORCH", "MALLOC_")
_VARIABLES = ("LD_PRELOAD", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TOKENIZERS_PARALLELISM")


class Facts:
    """Collects while the script runs; `write` may be called any number of times."""

    def __init__(self, places: Places, folder: str, live: Live) -> None:
        self.places = places
        self.calls = CallCounts(places)
        self.own_profiler_share = 0.0
        self.mark_overhead_ns: int | None = None
        self._path = os.path.join(folder, "facts.json")
        self._fetches = FetchLog(os.path.join(folder, "fetch.bin"), live)
        self._patches = Patches()
        self._loaders: list[tuple[weakref.ref[Any], Place]] = []
        self._optimizers: list[tuple[weakref.ref[Any], Place]] = []
        self._iterated: dict[Place, dict[str, Any]] = {}

    def install(self) -> None:
        self._fetches.install()
        construct, iterate = DataLoader.__init__, dataloader._BaseDataLoaderIter.__init__

        def loader_init(loader: Any, *args: Any, **kwargs: Any) -> None:
            construct(loader, *args, **kwargs)
            self._loaders.append((weakref.ref(loader), self.places.nearest(sys._getframe(1))))

        def iterator_init(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            place = next((place for known, place in self._loaders if known() is loader), Place("", -1, ""))
            self._iterated[place] = _loader_facts(loader, place)
            iterate(iterator, loader, *args, **kwargs)

        self._patches.replace(DataLoader, "__init__", loader_init)
        self._patches.replace(dataloader._BaseDataLoaderIter, "__init__", iterator_init)

    def remove(self) -> None:
        self._patches.restore()
        self._fetches.remove()

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None:
        self._optimizers.append((weakref.ref(optimizer), self.places.nearest(frame)))

    def write(self) -> None:
        """Replace facts.json by what is known now. Raises OSError."""
        write_json(self._path, {**_environment(), **self._observed()})

    def _observed(self) -> dict[str, Any]:
        optimizers = [(known(), place) for known, place in self._optimizers]
        return {
            "autocast": self.calls.autocast,
            "anomaly_mode": self.calls.anomaly_mode or torch.is_anomaly_enabled(),
            "own_profiler_share": self.own_profiler_share,
            "mark_overhead_ns": self.mark_overhead_ns,
            "forward": self.calls.forward_facts(),
            "loaders": list(self._iterated.values()),
            "optimizers": [_optimizer_facts(optimizer, place) for optimizer, place in optimizers if optimizer is not None],
            "models": [model_facts(model, place, self.calls.biased) for model, place in self.calls.models()],
        }


def _environment() -> dict[str, Any]:
    cuda = torch.cuda.is_available()
    gpu = torch.cuda.get_device_properties(torch.cuda.current_device()) if cuda else None
    return {
        "torch_version": str(torch.__version__),
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "device": f"cuda:{torch.cuda.current_device()}" if cuda else "cpu",
        "gpu_name": gpu.name if gpu else None,
        "gpu_capability": f"{gpu.major}.{gpu.minor}" if gpu else None,
        "gpu_memory_bytes": gpu.total_memory if gpu else None,
        "driver_version": _driver_version(),
        "cpu_core_count": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "thread_count": torch.get_num_threads(),
        "launch_blocking": os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
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


def _loader_facts(loader: Any, place: Place) -> dict[str, Any]:
    iterable = isinstance(loader.dataset, IterableDataset)
    try:
        length = len(loader.dataset)
    except (TypeError, NotImplementedError):
        length = None
    return {
        **place._asdict(),
        "num_workers": loader.num_workers,
        "batch_size": loader.batch_size if loader.batch_size is not None else getattr(loader.batch_sampler, "batch_size", None),
        "pin_memory": bool(loader.pin_memory),
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": bool(loader.persistent_workers),
        "dataset": type(loader.dataset).__qualname__,
        "dataset_length": length,
        "iterable": iterable,
        "in_order": bool(getattr(loader, "in_order", True)),
    }


def _optimizer_facts(optimizer: Optimizer, place: Place) -> dict[str, Any]:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    defaults = optimizer.defaults
    return {
        "class": type(optimizer).__name__,
        "foreach": defaults.get("foreach"),
        "fused": defaults.get("fused"),
        "device": str(parameters[0].device) if parameters else "cpu",
        "tensor_count": len(parameters),
        "parameter_count": sum(parameter.numel() for parameter in parameters),
        **place._asdict(),
    }
