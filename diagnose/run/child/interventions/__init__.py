"""Fixes that are put into the user's process before the script starts.

`diagnose verify` runs the script as it is with one of them, and measures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..places import Places
from .autocast import Autocast
from .base import Intervention, Sites
from .compiled import Compile
from .debugging import AnomalyModeOff, EmptyCacheOff, OwnProfilerOff
from .distributed import DistributedArguments
from .evaluation import InferenceMode
from .flags import BackendFlags
from .folding import FoldConvNorm
from .host import Affinity, GarbageFreeze, Threads
from .layout import ChannelsLast
from .loader import LoaderArguments
from .optimizer import OptimizerArguments, ZeroGrad
from .startup import Allocator, ExpandableSegments, LaunchBlockingOff
from .transfers import NonBlocking

__all__ = ["INTERVENTIONS", "Intervention", "build"]

INTERVENTIONS: dict[str, Callable[..., Intervention]] = {
    "affinity": Affinity,
    "allocator": Allocator,
    "anomaly_mode_off": AnomalyModeOff,
    "autocast": Autocast,
    "backend_flags": BackendFlags,
    "channels_last": ChannelsLast,
    "compile": Compile,
    "dataloader": LoaderArguments,
    "ddp": DistributedArguments,
    "empty_cache_off": EmptyCacheOff,
    "expandable_segments": ExpandableSegments,
    "fold_conv_norm": FoldConvNorm,
    "gc_freeze": GarbageFreeze,
    "inference_mode": InferenceMode,
    "launch_blocking_off": LaunchBlockingOff,
    "non_blocking": NonBlocking,
    "optimizer": OptimizerArguments,
    "own_profiler_off": OwnProfilerOff,
    "threads": Threads,
    "zero_grad": ZeroGrad,
}


def build(specs: list[dict[str, Any]], places: Places) -> list[Intervention]:
    """One intervention for each {"name", "arguments", "sites"}. Raises KeyError for an unknown
    name, TypeError for an unknown argument.

    Patches lie on top of each other: remove the interventions in the reverse order of their installation.
    """
    return [
        INTERVENTIONS[spec["name"]](Sites(spec.get("sites", ()), places), **spec.get("arguments", {}))
        for spec in specs
    ]
