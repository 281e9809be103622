"""The loaders: how they are set up, what their first batch is, how long each iterator took to bring it, and
how long to end its workers.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from time import perf_counter_ns
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, dataloader
from torch.utils.data._utils import collate

from ..guard import guarded
from ..lengths import length
from ..patching import Patches
from ..places import NOWHERE, Place, Places
from .feeding import Feeding
from .first_fetches import watch_first_fetches
from .starts import EPOCHS_AT_MOST, watch_start

_RECORDS_AT_MOST = 50
_ITEMS_LOOKED_AT = 16
_TENSORS_COUNTED = 2000  # of a batch: as many objects are looked at, at most
_WRAPPERS_AT_MOST = 8  # of data sets around one another


class Loaders:
    """Notices where loaders are made and every iterator over them."""

    def __init__(self, places: Places, feeding: Feeding) -> None:
        self._places, self._feeding = places, feeding
        self._made: list[tuple[weakref.ref[Any], Place]] = []
        self._iterated: dict[
            Any, dict[str, Any]
        ] = {}  # by where it was made and its settings: one line can make several
        self._iterators: weakref.WeakKeyDictionary[Any, dict[str, Any]] = (
            weakref.WeakKeyDictionary()
        )  # records
        self._patches = Patches()

    def install(self) -> None:
        iterator = dataloader._BaseDataLoaderIter
        self._patches.replace(DataLoader, "__init__", self._noticing_loader(DataLoader.__init__))
        self._patches.replace(iterator, "__init__", self._noticing_iterator(iterator.__init__))
        self._patches.replace(DataLoader, "__iter__", self._timing_start(DataLoader.__iter__))
        with_workers = dataloader._MultiProcessingDataLoaderIter
        self._patches.replace(
            with_workers, "_shutdown_workers", self._timing_end(with_workers._shutdown_workers)
        )

    def remove(self) -> None:
        self._patches.restore()

    def facts(self, recorded_steps: float) -> list[dict[str, Any]]:
        return [record | self._feeding.facts(key, recorded_steps) for key, record in self._iterated.items()]

    @guarded("counting the batches to come")
    def ticks_left(self, ticks: int) -> int | None:
        """How many more there are at least, after so many, in the epochs that are not over;
        None where no loader tells its length.
        """
        left = [
            left for iterator in list(self._iterators) if (left := _ticks_left(iterator, ticks)) is not None
        ]
        return max(left, default=None)

    @guarded("counting the batches ahead", 0)
    def batches_ahead(self) -> int:
        """How many batches workers can have loaded before they are asked for."""
        return max(
            (
                iterator._num_workers * iterator._prefetch_factor
                for iterator in list(self._iterators)
                if iterator._num_workers
            ),
            default=0,
        )

    def _noticing_loader(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)  # frameworks make loaders anew from the signature
        def __init__(loader: Any, /, *args: Any, **kwargs: Any) -> None:
            original(loader, *args, **kwargs)
            self._remember(loader, sys._getframe(1))

        return __init__

    @guarded("watching where loaders are made")
    def _remember(self, loader: Any, frame: FrameType) -> None:
        self._made.append((weakref.ref(loader), self._places.nearest(_maker(frame, loader))))

    def _noticing_iterator(self, original: Callable[..., None]) -> Callable[..., None]:
        def __init__(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            with contextlib.suppress(Exception):  # loaders that are only like torch's
                key = self._key_of(loader)
                self._feeding.introduce(iterator, key)
                self._iterators[iterator] = self._iterated[key]
            original(iterator, loader, *args, **kwargs)

        return __init__

    def _timing_start(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def __iter__(loader: Any) -> Any:
            begin = perf_counter_ns()
            iterator = original(loader)
            with contextlib.suppress(Exception):
                self._watch(iterator, self._iterated[self._key_of(loader)], begin)
            return iterator

        return __iter__

    def _timing_end(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def _shutdown_workers(iterator: Any) -> None:
            begin = perf_counter_ns()
            original(iterator)
            with contextlib.suppress(Exception):
                self._ended(iterator, (perf_counter_ns() - begin) / 1e6)

        return _shutdown_workers

    def _ended(self, iterator: Any, took_ms: float) -> None:
        """Its workers have ended; what is called again when the iterator is deleted takes no time."""
        ends_ms = self._iterators.pop(iterator)["iterator_end_ms"]
        if len(ends_ms) < EPOCHS_AT_MOST:
            ends_ms.append(took_ms)

    def _key_of(self, loader: Any) -> tuple[Any, ...]:
        """Of its record, which there is from then on."""
        place = next((place for known, place in self._made if known() is loader), NOWHERE)
        settings = _loader_facts(loader)
        key = place, *map(str, settings.values())
        if len(self._iterated) >= _RECORDS_AT_MOST:  # made anew all the time, always a little different
            key = next((known for known in self._iterated if known[0] == place), key)
        observed: dict[str, Any] = {
            "batch_type": None,
            "batch_pinnable": None,
            "batch_bytes": None,
            "batch_tensor_count": None,
            "draws_random": None,
            "collating_share": None,
            "sample_start": None,
            "iterator_start_ms": [],
            "iterator_start_ns": [],
            "iterator_end_ms": [],
            "system_ms_after_start": [],
            "sample_made": _sample_made(loader.dataset, self._places),
            "collated": _collated(loader.collate_fn, self._places),
        }
        self._iterated.setdefault(key, {**place._asdict(), **observed, **settings})
        return key

    def _watch(self, iterator: Any, record: dict[str, Any], begin_ns: int) -> None:
        def describe(batch: Any) -> None:
            record.update(batch_type=_type_name(batch), batch_pinnable=_pinnable(batch))
            record.update(zip(("batch_tensor_count", "batch_bytes"), _size(batch), strict=True))

        watch_start(iterator, record, begin_ns, describe)
        watch_first_fetches(iterator, record)


def _maker(frame: FrameType, loader: Any) -> FrameType:
    """The frame that makes the loader: outside of what a class of the script's own does first."""
    while frame.f_back and frame.f_code.co_name == "__init__":
        own = frame.f_code.co_varnames[:1]
        if not own or frame.f_locals.get(own[0]) is not loader:
            break
        frame = frame.f_back
    return frame


def _loader_facts(loader: Any) -> dict[str, Any]:
    iterable = isinstance(loader.dataset, IterableDataset)
    sampler = None if iterable else _sampler(loader)
    return {
        "num_workers": loader.num_workers,
        "batch_size": loader.batch_size
        if loader.batch_size is not None
        else getattr(loader.batch_sampler, "batch_size", None),
        "pin_memory": bool(loader.pin_memory),
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": bool(loader.persistent_workers),
        "dataset": type(loader.dataset).__qualname__,
        "dataset_length": length(loader.dataset),
        "iterable": iterable,
        "in_order": bool(getattr(loader, "in_order", True)),
        "sampler": type(sampler).__name__ if sampler is not None else None,
        "distributed_sampler": any(
            _is_distributed(one) for one in (sampler, getattr(sampler, "sampler", None))
        ),
        "collate": _collate_name(loader.collate_fn),
        "worker_info_used": uses_worker_info(loader) if iterable else None,
        "batches_per_epoch": None
        if iterable
        else length(loader._index_sampler),  # an iterable's length is not to be asked for
    }


def _sample_made(dataset: Any, places: Places) -> dict[str, Any] | None:
    """Where the user's data set makes a sample, the inner one's of one of torch's around it (`Subset`); None
    where none of these is the user's code.
    """
    for _ in range(_WRAPPERS_AT_MOST):
        kind = type(dataset)
        makes = getattr(kind, "__iter__" if isinstance(dataset, IterableDataset) else "__getitem__", None)
        code = getattr(makes, "__code__", None)
        if (defined := _defined(code, places)) is not None:
            return defined
        if not kind.__module__.startswith("torch.utils.data"):
            return None
        inner = [getattr(dataset, "dataset", None), *(getattr(dataset, "datasets", None) or ())]
        dataset = next((one for one in inner if one is not None), None)
    return None


def _collated(function: Any, places: Places) -> dict[str, Any] | None:
    """Where the user's own function, or a method of theirs, makes a batch; None where it is none."""
    function = getattr(function, "func", function)  # of a partial
    code = getattr(function if hasattr(function, "__code__") else type(function).__call__, "__code__", None)
    return _defined(code, places)


def _defined(code: CodeType | None, places: Places) -> dict[str, Any] | None:
    """Where a function of the user's own is defined; None for any other."""
    if code is None or not (file := places.user_file(code.co_filename)):
        return None
    return {"file": file, "line": code.co_firstlineno, "function": code.co_name}


def _ticks_left(iterator: Any, ticks: int) -> int | None:
    """By the batches that came and those that are to come; None where that is not known."""
    batches = None if isinstance(iterator._dataset, IterableDataset) else length(iterator._index_sampler)
    if batches is None or not iterator._num_yielded:
        return None
    return int((batches - iterator._num_yielded) / max(1.0, iterator._num_yielded / ticks))


def _sampler(loader: Any) -> Any:
    """The one that decides: a batch sampler of the script's own, else the sampler of items."""
    batches = loader.batch_sampler
    if batches is not None and type(batches) is not BatchSampler:
        return batches
    return getattr(batches, "sampler", loader.sampler)


def _is_distributed(sampler: Any) -> bool:
    return any("Distributed" in cls.__name__ for cls in type(sampler).__mro__)


def _collate_name(function: Any) -> str:
    if function in (collate.default_collate, collate.default_convert):
        return "default"
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _type_name(batch: Any) -> str:
    return "tensor" if type(batch) is torch.Tensor else type(batch).__qualname__


def _pinnable(batch: Any) -> bool:
    """False if torch's pin_memory would pass over an object of a class of its own."""
    if batch is None or isinstance(batch, (torch.Tensor, str, bytes, Number)) or hasattr(batch, "pin_memory"):
        return True
    if isinstance(batch, Mapping):
        return all(map(_pinnable, list(batch.values())[:_ITEMS_LOOKED_AT]))
    return isinstance(batch, Sequence) and all(map(_pinnable, batch[:_ITEMS_LOOKED_AT]))


def _size(batch: Any) -> tuple[int, int]:
    """How many tensors a batch holds, and their bytes: each is handed over by itself."""
    waiting, looked_at, count, size = [batch], 0, 0, 0
    while waiting and looked_at < _TENSORS_COUNTED:
        value = waiting.pop()
        looked_at += 1
        if isinstance(value, torch.Tensor):
            count, size = count + 1, size + value.nbytes
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
        else:  # a class of the script's own
            waiting += getattr(value, "__dict__", {}).values()
    return count, size


def uses_worker_info(loader: Any) -> bool:
    """Whether the dataset, or one it wraps, asks which worker it is in, or the workers are set
    up by a function of the script's own.
    """
    if loader.worker_init_fn is not None:
        return True
    datasets = [loader.dataset, *vars(loader.dataset).values()]
    classes = {
        cls for dataset in datasets if isinstance(dataset, IterableDataset) for cls in type(dataset).__mro__
    }
    own = [cls for cls in classes if cls is not object and not cls.__module__.startswith("torch.")]
    return any(
        _asks(function)
        for cls in own
        for function in vars(cls).values()
        if isinstance(function, FunctionType)
    )


def _asks(function: FunctionType, depth: int = 2) -> bool:
    """Whether `get_worker_info` is named in the function, or in one of its module that it calls."""
    for code in _codes(function.__code__):
        for name in code.co_names:
            meant = function.__globals__.get(name)
            if name == "get_worker_info" or meant is torch.utils.data.get_worker_info:
                return True
            if (
                depth
                and isinstance(meant, FunctionType)
                and meant.__globals__ is function.__globals__
                and _asks(meant, depth - 1)
            ):
                return True
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
