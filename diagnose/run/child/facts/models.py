"""What the marked calls tell about the models: how they are called, and what they are
made of; and which optimizers step.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import weakref
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from ..inspection import (
    CONVOLUTIONS,
    NORMS,
    Pair,
    compiler_in_use,
    convolutions_before_norms,
    kept_for_backward,
    kernels_of,
    pair_of,
)
from ..loading.feeding import Arrival, Feeding
from ..places import NOWHERE, Place, Places
from ..recording.marks import Observer
from ..tensors import tensors_near
from .graph_use import GraphUse
from .same_inputs import SameInputs
from .sequences import Sequences

_TYPES_AT_MOST = 10

_Shapes = Counter[tuple[int, tuple[int, ...]]]  # calls, by the model's id and the shape of what it is given


class CallCounts(Observer):
    """While marks are installed: counts forwards, backwards and fetches, sees which optimizers
    step, looks once at a forward of each.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self.look_closely = False
        self.autocast = self.anomaly_mode = False
        self.feeding = Feeding()
        self._same_inputs = SameInputs()
        self._sequences = Sequences(places)
        self.graphs = GraphUse(places)
        self.forget()
        self._models: dict[int, tuple[weakref.ref[nn.Module], Place]] = {}
        self._optimizers: dict[int, weakref.ref[Any]] = {}
        self.pairs: dict[int, list[Pair]] = {}
        self.saved_bytes: int | None = None

    def forget(self) -> None:
        """Start counting again: what was counted belongs to no step."""
        self._forwards = self._with_grad = self._inference = self._training = self._backwards = 0
        self._updates = 0  # of weights, by optimizers
        self.feeding.forget()
        self._same_inputs.forget()
        self._sequences.forget()
        self.graphs.forget()
        # of the first tensor given, by model, and how much of two things speaks for training
        self._shapes: Counter[tuple[int, tuple[int, ...], int]] = Counter()
        self._elements = 0  # given since they were taken last

    def forward(
        self, frame: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> contextlib.AbstractContextManager[None] | None:
        module = args[0]
        self._forwards += 1
        self._with_grad += torch.is_grad_enabled()
        self._inference += torch.is_inference_mode_enabled()
        self._training += module.training
        self.autocast = self.autocast or _autocast_enabled()
        if id(module) not in self._models and next(module.parameters(), None) is not None:
            self._models[id(module)] = weakref.ref(module), defined_at(module, frame, self._places)
        if id(module) in self._models:
            given = list(tensors_near((*args[1:], *kwargs.values())))
            if given and given[0].dim():
                for_training = torch.is_grad_enabled() + module.training
                self._shapes[id(module), tuple(given[0].shape), for_training] += 1
            with contextlib.suppress(Exception):  # a kind of tensor that does not tell its size
                self._elements += sum(tensor.numel() for tensor in given)
            with contextlib.suppress(Exception):  # inference tensors have no version
                place = self._places.nearest(frame)
                self._sequences.call(id(module), given, place, frame)
                self._same_inputs.call(id(module), given, place)
        watch = self.graphs.watched(module, frame)
        return self._closer_look(module, watch) if self.look_closely and not compiler_in_use() else watch

    @contextlib.contextmanager
    def _closer_look(
        self, module: nn.Module, watch: contextlib.AbstractContextManager[None] | None
    ) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if watch is not None:
                stack.enter_context(watch)
            if id(module) not in self.pairs:
                stack.enter_context(convolutions_before_norms(module, self.pairs.setdefault(id(module), [])))
            if not self._backwards and torch.is_grad_enabled():
                stack.enter_context(kept_for_backward(module, self._add_saved))
            yield

    def _add_saved(self, count: int) -> None:
        self.saved_bytes = (self.saved_bytes or 0) + count

    def backward(self) -> None:
        self._backwards += 1
        self.anomaly_mode = self.anomaly_mode or torch.is_anomaly_enabled()

    def fetch(self, iterator: Any) -> Arrival:
        return self.feeding.fetch(iterator)

    def optimizer(self, optimizer: Any) -> None:
        self._updates += 1
        self._same_inputs.weights_changed()
        known = self._optimizers.get(id(optimizer))
        if known is None or known() is not optimizer:
            self._optimizers[id(optimizer)] = weakref.ref(optimizer)
        self.graphs.cleared.steps(optimizer)

    def begin(self) -> None:
        """The marks are about to be installed: of the calls before nothing is known."""
        self._elements = 0
        self._same_inputs.begin()
        self._sequences.begin()

    def taken_elements(self) -> tuple[int, int]:
        """How many elements the tensors had that models with parameters were given since this was last
        called; of these, those of `Sequences.taken_elements`.
        """
        elements, self._elements = self._elements, 0
        return elements, self._sequences.taken_elements()

    def pieces_per_update(self) -> int:
        """How many batches of one size the one model is given in training for each update, each with a
        backward of its own; 1 where they are not so.
        """
        counts = list(self._given_in_training().values())
        if len(self.optimizers()) != 1 or counts != [self._backwards] or not self._updates:
            return 1
        return max(1, round(self._backwards / self._updates))

    def throws_all_graphs_away(self) -> bool:
        """Nothing has gone backward, and nothing is kept that could."""
        return not self._backwards and not compiler_in_use() and self.graphs.thrown_away()

    def per_step(self, steps: float) -> dict[str, float | None]:
        """Calls of each kind per step, over the steps with marks; None if there was none."""
        counts = {"backward": self._backwards, "fetch": self.feeding.batches(), "forward": self._forwards}
        return {name: count / steps if steps else None for name, count in counts.items()}

    def _given(self, least: int = 0) -> _Shapes:
        """In calls of which at least so much speaks for training."""
        found: _Shapes = Counter()
        for (model, shape, for_training), count in self._shapes.items():
            if for_training >= least:
                found[model, shape] += count
        return found

    def _given_in_training(self) -> _Shapes:
        """In calls with gradients on and of models in training mode; where there is none, in those that have
        more of both than others; in all where nothing goes backward.
        """
        most = max((for_training for *_, for_training in self._shapes), default=0)
        return self._given(most if self._backwards else 0)

    def forward_facts(self) -> dict[str, Any]:
        shapes, in_training = self._given(), self._given_in_training()
        first_dimensions = _first_dimensions(shapes)
        return {
            "count": self._forwards,
            "grad_count": self._with_grad,
            "inference_mode_count": self._inference,
            "training_count": self._training,
            "backward_count": self._backwards,
            "saved_bytes": self.saved_bytes,
            "batch_size": _most_frequent(first_dimensions),
            "shape_count": _shape_count(shapes),
            "training_batch_size": _most_frequent(_first_dimensions(in_training)),
            "training_shape_count": _shape_count(in_training),
            "sample_count": sum(size * count for size, count in first_dimensions.items())
            if len({model for model, _ in shapes}) == 1
            else None,
            "same_inputs": self._same_inputs.facts(),
            "sequences": self._sequences.facts(),
        }

    def optimizers(self) -> list[Any]:
        """Those that stepped and are still alive."""
        return [optimizer for known in self._optimizers.values() if (optimizer := known()) is not None]

    def models(self) -> Iterator[tuple[nn.Module, Place]]:
        for known, place in self._models.values():
            model = known()
            if model is not None:
                yield model, place


def _first_dimensions(shapes: _Shapes) -> Counter[int]:
    found: Counter[int] = Counter()
    for (_, shape), count in shapes.items():
        found[shape[0]] += count
    return found


def _most_frequent(first_dimensions: Counter[int]) -> int | None:
    return first_dimensions.most_common(1)[0][0] if first_dimensions else None


def _shape_count(shapes: _Shapes) -> int | None:
    """Of the model that is given most different ones."""
    return max(Counter(model for model, _ in shapes).values(), default=None)


def model_facts(model: nn.Module, place: Place, seen: dict[int, list[Pair]]) -> dict[str, Any]:
    """`seen`: the pairs of convolution and norm of the models that were looked at closely, by id."""
    parameters = list(model.parameters())
    convolutions = [module for module in model.modules() if isinstance(module, CONVOLUTIONS)]
    pairs = seen.get(id(model))
    pairs = _pairs_in_sequence(model) if pairs is None else pairs
    return {
        "class": type(model).__name__,
        **place._asdict(),
        "device": str(parameters[0].device) if parameters else "cpu",
        "parameter_count": sum(parameter.numel() for parameter in parameters),
        "parameter_bytes": sum(parameter.numel() * parameter.element_size() for parameter in parameters),
        "dtypes": sorted({str(parameter.dtype).removeprefix("torch.") for parameter in parameters}),
        "training": model.training,
        "convolution_count": len(convolutions),
        "channels_last": any(
            _is_channels_last(kernel) for module in convolutions for kernel in kernels_of(module)
        ),
        "conv_bias_before_norm": [{"conv": pair.conv, "norm": pair.norm} for pair in pairs if pair.biased],
        "conv_norm_pair_count": sum(pair.folds for pair in pairs),
        "sync_batchnorm_count": sum(isinstance(module, nn.SyncBatchNorm) for module in model.modules()),
        "module_types": dict(
            Counter(type(module).__name__ for module in model.modules()).most_common(_TYPES_AT_MOST)
        ),
    }


def _pairs_in_sequence(model: nn.Module) -> list[Pair]:
    """Convolutions that a norm directly follows in an nn.Sequential, where
    order of definition is order of use.
    """
    pairs = []
    for prefix, module in model.named_modules():
        if not isinstance(module, nn.Sequential):
            continue
        children = list(module.named_children())
        for (name, child), (next_name, next_child) in itertools.pairwise(children):
            if isinstance(child, CONVOLUTIONS) and isinstance(next_child, NORMS):
                pairs.append(
                    pair_of(
                        child, next_child, f"{prefix}.{name}".lstrip("."), f"{prefix}.{next_name}".lstrip(".")
                    )
                )
    return pairs


def _is_channels_last(weight: torch.Tensor) -> bool:
    """A layout that is channels_last and not also the default one, as it is for 1x1 kernels."""
    return (
        weight.dim() == 4
        and weight.is_contiguous(memory_format=torch.channels_last)
        and not weight.is_contiguous()
    )


def _autocast_enabled() -> bool:
    return torch.is_autocast_enabled() or torch.is_autocast_enabled("cpu")


def defined_at(module: nn.Module, frame: FrameType, places: Places) -> Place:
    """The class's own definition where it is the user's, else the line that calls the model."""
    try:
        file = places.user_file(inspect.getsourcefile(type(module)) or "")
        if file:
            return Place(file, inspect.getsourcelines(type(module))[1], type(module).__name__)
    except (OSError, TypeError):  # defined interactively or in C
        pass
    return places.nearest(frame) if frame is not None else NOWHERE
