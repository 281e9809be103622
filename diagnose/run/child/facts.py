"""facts.json: what no trace holds, collected while the script runs."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from .cells import cell_sources
from .compiling import compile_facts
from .distributed import Distributed
from .fetch import FetchLog
from .live import Live
from .loaders import Loaders
from .machine import environment
from .memory_errors import gpu_out_of_memory_count
from .models import CallCounts, model_facts
from .optimizers import ZeroGrads, optimizer_facts
from .places import NOWHERE, Place, Places
from .plain_phase import PlainPhase
from .uploads import Uploads
from .writing import write_json


class Facts:
    """Collects while the script runs; `write` may be called any number of times."""

    def __init__(self, places: Places, run_folder: str, live: Live, place_for: Callable[[str], tuple[Any, str]]) -> None:
        """`place_for(kind)`: see `Marks`."""
        self.places = places
        self.calls = CallCounts(places)
        self.zero_grads, self.uploads = ZeroGrads(places), Uploads(places)
        self.plain = PlainPhase(place_for)
        self.own_profiler_share = 0.0
        self.mark_overhead_ns: int | None = None
        self.recorded_steps = 0.0
        self.memory_error: dict[str, Any] | None = None  # that the script died of
        self._fetches = FetchLog(run_folder, live)
        self._loaders, self._distributed = Loaders(places, self.calls.feeding), Distributed(places)
        self._optimizers: list[tuple[weakref.ref[Any], Place]] = []

    def install(self) -> None:
        for observer in (self._fetches, self._loaders, self._distributed):
            observer.install()

    def remove(self) -> None:
        for observer in (self._fetches, self._loaders, self._distributed):
            observer.remove()

    def close(self) -> None:
        self._fetches.close()

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None:
        self._optimizers.append((weakref.ref(optimizer), self.places.nearest(frame)))

    def write(self, folder: str) -> None:
        """Replace facts.json in `folder` by what is known now, and write the batches fetched so far. Raises OSError."""
        self._fetches.write()
        write_json(os.path.join(folder, "facts.json"), {**environment(), **self._observed()})

    def _observed(self) -> dict[str, Any]:
        models = list(self.calls.models())
        facts: dict[str, Any] = {
            "autocast": self.calls.autocast,
            "anomaly_mode": self.calls.anomaly_mode or torch.is_anomaly_enabled(),
            "own_profiler_share": self.own_profiler_share,
            "mark_overhead_ns": self.mark_overhead_ns,
            "forward": self.calls.forward_facts(),
            "loaders": self._loaders.facts(self.recorded_steps),
            "optimizers": [optimizer_facts(optimizer, place) for optimizer, place in self._known_optimizers()],
            "models": [model_facts(model, place, self.calls.pairs) for model, place in models],
            "zero_grad": self.zero_grads.facts(),
            "repeated_uploads": self.uploads.facts(self.recorded_steps) if self.recorded_steps else None,
            **self._distributed.facts(model for model, _ in models),
            **self.plain.facts,
            "out_of_memory_count": gpu_out_of_memory_count(),
            "memory_error": self.memory_error,
        }
        if sources := cell_sources(self.places.cells):
            facts["sources"] = sources
        return facts | {"compile": compile_facts(self.places, facts.pop("frames_compiled_in_steps", None))}

    def _known_optimizers(self) -> list[tuple[Any, Place]]:
        """Those that were seen made, and those that step although they were made before we came."""
        made = [(optimizer, place) for known, place in self._optimizers if (optimizer := known()) is not None]
        seen = {id(optimizer) for optimizer, _ in made}
        return made + [(optimizer, NOWHERE) for optimizer in self.calls.optimizers() if id(optimizer) not in seen]
