"""facts.json: what no trace holds, collected while the script runs."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from .. import accelerator
from ..cells import cell_sources
from ..dataflow.dataflow import Dataflow
from ..guard import attempt
from ..lines.line_clock import LineClock
from ..loading.fetch import FetchLog
from ..loading.loaders import Loaders
from ..memory.heap_as_it_was import HeapAsItWas
from ..memory.memory_errors import gpu_out_of_memory_count
from ..memory.memory_look import MemoryLook
from ..phases.plain_phase import PlainPhase
from ..places import NOWHERE, Place, Places
from ..shared_state import SharedState
from ..source.rare_work import RareWork
from ..trials.autocast_look import AutocastLook
from ..trials.batch_look import BatchLook
from ..trials.heap_look import HeapLook
from ..trials.layout_look import LayoutLook
from ..trials.packed_look import PackedLook
from ..trials.precision_look import PrecisionLook
from ..trials.setting_trials import Look
from ..writing import write_json
from .compiling import compile_facts
from .distributed import Distributed
from .last_read import LastRead
from .machine import environment
from .models import CallCounts, model_facts
from .modes import Modes
from .module_hooks import module_hooks
from .optimizers import ZeroGrads, optimizer_facts
from .untrained import Untrained
from .uploads import Uploads


class Facts:
    """Collects while the script runs; `write` may be called any number of times."""

    def __init__(
        self,
        places: Places,
        run_folder: str,
        shared: SharedState,
        place_for: Callable[[str], tuple[Any, str]],
        uncounted: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`place_for(kind)`: see `Marks`; `uncounted`: a context in which the clock counts no forwards."""
        self.places = places
        self.calls = CallCounts(places)
        self.zero_grads, self.uploads = ZeroGrads(places, self.calls.graphs.cleared), Uploads(places)
        self.plain = PlainPhase(place_for, places)
        self.own_profiler_share = 0.0
        self.profiler_costs: dict[str, int] | None = None  # see `measured_costs`
        self.recorded_steps = 0.0
        self.memory_error: dict[str, Any] | None = None  # that the script died of
        self._fetches = FetchLog(places, run_folder, shared)
        self._loaders, self._distributed = Loaders(places, self.calls.feeding), Distributed(places)
        self._modes = Modes(places)
        self.trials: list[dict[str, Any]] = []  # see `SettingTrials`
        self.line_clock, self.dataflow = LineClock(places), Dataflow(places, place_for)
        self.memory = MemoryLook(places)
        self.layouts = LayoutLook(self.calls, places, place_for, uncounted)
        self.packed = PackedLook(self.calls, places, place_for, uncounted)
        self.autocast_calls = AutocastLook(self.calls, places, place_for, uncounted)
        self.double_calls = PrecisionLook(self.calls, places, place_for, uncounted)
        self.heap = HeapAsItWas()
        self.heap_look = HeapLook(self._page_faults_before)
        self.larger_batches = BatchLook(self.calls, places, place_for, uncounted)
        self.rare_work = RareWork(places)
        self._frozen: dict[str, Any] | None = None
        self._of_models, self._of_optimizers = LastRead[dict[str, Any]](), LastRead[dict[str, Any]]()
        self._of_all_models: dict[str, Any] = {}  # while there were some
        self._optimizers: list[tuple[weakref.ref[Any], Place]] = []
        self.untrained = Untrained(
            places,
            lambda: [model for model, _ in self.calls.models()],
            lambda: [optimizer for optimizer, _ in self._known_optimizers()],
            place_for,
        )
        self._parameter_devices: set[torch.device] = set()

    @property
    def looks_before_a_stop(self) -> tuple[Look, ...]:
        """Where the script goes on they would change it: its hooks and generators know nothing of copies."""
        # the last one leaves malloc as it was not before
        return (
            self.layouts,
            self.packed,
            self.autocast_calls,
            self.double_calls,
            self.larger_batches,
            self.heap_look,
        )

    def install(self) -> None:
        for observer in (self._fetches, self._loaders, self._distributed, self._modes):
            observer.install()

    def remove(self) -> None:
        for observer in (self._fetches, self._loaders, self._distributed, self._modes):
            observer.remove()

    def close(self) -> None:
        self._fetches.close()

    def _page_faults_before(self) -> float:
        """Of a step, before settings are tried."""
        usages = (self.plain.facts.get(name) or {} for name in ("unrecorded_usage", "plain_usage"))
        return max(usage.get("page_faults_per_step", 0.0) for usage in usages)

    def ticks_left(self, ticks: int) -> int | None:
        """How many are still to come at least, after so many, by the batches that the
        loader has left; None where nobody knows.
        """
        return self._loaders.ticks_left(ticks)

    def threads_set(self) -> bool:
        """Whether the script has called `torch.set_num_threads`."""
        return self._modes.has_switched("threads")

    def batches_ahead(self) -> int:
        """How many batches loader workers can have ready."""
        return self._loaders.batches_ahead()

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None:
        self._optimizers.append((weakref.ref(optimizer), self.places.nearest(frame)))

    def write(self, folder: str) -> None:
        """Replace facts.json in `folder` by what is known now, write memory.json once that is known, and the
        batches fetched so far. Raises OSError.
        """
        self._fetches.write()
        if self.memory.told:
            write_json(os.path.join(folder, "memory.json"), self.memory.told)
        later = {
            "setting_trials": self.trials,
            "line_times": self.line_clock.facts,
            "dataflow": self.dataflow.facts,
            "layouts": self.layouts.facts,
            "packed": self.packed.facts,
            "autocast_calls": self.autocast_calls.facts,
            "double_calls": self.double_calls.facts,
            "larger_batches": self.larger_batches.facts,
            "kept_memory": self.heap_look.facts,
            "memory_error": self.memory_error,
        }
        write_json(os.path.join(folder, "facts.json"), {**(self._frozen or self._read()), **later})

    def freeze(self) -> None:
        """All is recorded: what the script does from now on, as taking its models down, is no fact of it."""
        self._frozen = self._read()

    def thaw(self) -> None:
        """It is recorded again."""
        self._frozen = None

    def _read(self) -> dict[str, Any]:
        return {**environment(), **self._observed()}

    def _observed(self) -> dict[str, Any]:
        models = attempt("looking at models", lambda: list(self.calls.models()), [])
        optimizers = attempt("looking at optimizers", self._known_optimizers, [])
        in_steps = self.plain.facts.get("frames_compiled_in_steps")
        read: dict[str, Callable[[], Any]] = {
            "autocast": lambda: self.calls.autocast,
            "anomaly_mode": lambda: self.calls.anomaly_mode or torch.is_anomaly_enabled(),
            "own_profiler_share": lambda: self.own_profiler_share,
            "mark_overhead_ns": lambda: self.profiler_costs["range_ns"] if self.profiler_costs else None,
            "profiler_costs": lambda: self.profiler_costs,
            "forward": self.calls.forward_facts,
            "loaders": lambda: self._loaders.facts(self.recorded_steps),
            "zero_grad": self.zero_grads.facts,
            "repeated_uploads": lambda: (
                self.uploads.facts(self.recorded_steps) if self.recorded_steps else None
            ),
            "compile": lambda: compile_facts(self.places, in_steps),
            "out_of_memory_count": gpu_out_of_memory_count,
            "accelerator": lambda: accelerator.facts(self._parameters_on(models, optimizers)),
            "modes": self._modes.facts,
            "rare_work": lambda: self.rare_work.facts,
            "graphs": self.calls.graphs.facts,
            "cleared_gradients": self.calls.graphs.cleared.facts,
        }
        facts = {name: attempt(f"reading the fact {name}", reader, None) for name, reader in read.items()}
        facts["optimizers"] = self._of_optimizers.with_those_gone(
            _of_each("an optimizer", optimizer_facts, optimizers)
        )
        facts["models"] = self._of_models.with_those_gone(
            _of_each("a model", partial(model_facts, seen=self.calls.pairs), models)
        )
        if models or not self._of_all_models:
            self._of_all_models = self._observed_of([model for model, _ in models])
        facts |= self._of_all_models
        facts |= {
            name: value for name, value in self.plain.facts.items() if name != "frames_compiled_in_steps"
        }
        sources = attempt("keeping the text of cells", lambda: cell_sources(self.places.cells), {})
        return facts | ({"sources": sources} if sources else {})

    def _observed_of(self, models: list[torch.nn.Module]) -> dict[str, Any]:
        hooks = partial(module_hooks, models, self.places)
        distributed = partial(self._distributed.facts, models)
        return {
            "module_hooks": attempt("reading the fact module_hooks", hooks, None),
            **attempt("reading what is distributed", distributed, {}),
        }

    def _parameters_on(self, models: list[Any], optimizers: list[Any]) -> set[torch.device]:
        """Where these have their parameters, and those had that are gone."""
        of_models = (parameter for model, _ in models for parameter in model.parameters())
        of_optimizers = (
            parameter
            for optimizer, _ in optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        )
        self._parameter_devices |= {
            parameter.device for parameter in itertools.chain(of_models, of_optimizers)
        }
        return self._parameter_devices

    def _known_optimizers(self) -> list[tuple[Any, Place]]:
        """Those that were seen made, and those that step although they were made before we came."""
        made = [(optimizer, place) for known, place in self._optimizers if (optimizer := known()) is not None]
        seen = {id(optimizer) for optimizer, _ in made}
        return made + [
            (optimizer, NOWHERE) for optimizer in self.calls.optimizers() if id(optimizer) not in seen
        ]


def _of_each(
    what: str, facts_of: Callable[[Any, Place], dict[str, Any]], known: list[tuple[Any, Place]]
) -> dict[int, dict[str, Any]]:
    """The facts about each, by id, less those that cannot be read."""
    read = {
        id(made): attempt(f"looking at {what}", partial(facts_of, made, place), None) for made, place in known
    }
    return {made: facts for made, facts in read.items() if facts is not None}
