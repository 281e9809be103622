"""Both arms of a comparison get the same data: what they get is hashed, and where items
draw random numbers those are seeded.
"""

from __future__ import annotations

import hashlib
import random
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.data import dataloader
from torch.utils.data._utils import fetch

from .guard import attempt
from .patching import Patches
from .tensors import attributes_of, tensors_in

SEED = 0
PLAIN = (str, bytes, int, float, complex)


def seed_everything(seed: int = SEED) -> None:
    """torch, Python and numpy (which torch has imported, if it is installed); a script
    that seeds itself does so afterwards.
    """
    torch.manual_seed(seed)
    _seed_host(seed)


def _seed_host(seed: int) -> None:
    """All but the GPU's generators, which a loader's worker has no part in."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


class BatchHashes:
    """Hashes every batch a DataLoader hands over, until it is removed: for the steps that are not timed.

    `sizes`: how many samples each holds, as far as its first tensor tells. `fetched_ahead`: how many batches
    the workers of a loader may have ready, at most.
    """

    def __init__(self) -> None:
        self.hashes: list[str] = []
        self.sizes: list[int] = []
        self.fetched_ahead = 0
        self._iterator: Callable[[], Any] = lambda: None  # the last one with workers, while it lives
        self._patches = Patches()

    def install(self) -> None:
        iterator = dataloader._BaseDataLoaderIter
        self._patches.replace(iterator, "__next__", self._hashing(iterator.__next__))

    def remove(self) -> None:
        self._patches.restore()

    def supply(self) -> tuple[int, int] | None:
        """How many batches of workers were taken until now, and how many are ready; None without workers, and
        where another loader came.
        """
        return attempt("counting batches that are ready", lambda: _supply_of(self._iterator()), None)

    def _hashing(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def __next__(iterator: Any) -> Any:
            batch = original(iterator)
            if self._patches:  # an iterator made before the end of the warm-up may hold on to this function
                self.hashes.append(digest(batch))
                ahead = iterator._num_workers * getattr(iterator, "_prefetch_factor", 0)
                self.fetched_ahead = max(self.fetched_ahead, ahead)
                if ahead:
                    self._iterator = weakref.ref(iterator)
                self.sizes += [len(tensor) for tensor in tensors_in(batch) if tensor.dim()][:1]
            return batch

        return __next__


def _supply_of(iterator: Any) -> tuple[int, int] | None:
    if iterator is None or sys.platform == "darwin":  # where queues do not know how long they are
        return None
    queues = {id(queue): queue for queue in (iterator._data_queue, iterator._worker_result_queue)}
    out_of_turn = sum(len(task) == 2 for task in iterator._task_info.values())
    return iterator._rcvd_idx, out_of_turn + sum(queue.qsize() for queue in queues.values())


def digest(value: Any) -> str:
    """Of the tensors and plain values in a batch, whatever holds them; what else there is
    counts by its class only.
    """
    hashed = hashlib.blake2b(digest_size=8)
    for part in _parts(value):
        hashed.update(part)
    return hashed.hexdigest()


def _parts(value: Any, deepest: int = 8) -> Iterator[bytes]:
    if isinstance(value, torch.Tensor):
        yield repr((value.dtype, tuple(value.shape))).encode()
        if value.layout == torch.strided and not value.is_quantized:
            yield _content(value)
    elif isinstance(value, Mapping):
        for key in value:
            yield repr(key).encode()
            yield from _parts(value[key], deepest)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _parts(one, deepest)
    elif value is None or isinstance(value, PLAIN):
        yield repr(value).encode()
    else:
        yield repr(type(value)).encode()
        if deepest and (attributes := attributes_of(value)):
            yield from _parts(attributes, deepest - 1)


def _content(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    if not flat.numel():
        return b""
    # numpy's way to bytes is the quick one, and torch may be installed without it
    as_bytes = flat.view(torch.uint8)
    return as_bytes.numpy().tobytes() if "numpy" in sys.modules else bytes(as_bytes.tolist())


class SeededBatches:
    """Seeds the random numbers of each batch of a map-style data set by its own indices, so
    that it does not matter which process fetches it; the process's own stream of random numbers
    goes on as if nothing had been drawn.
    """

    def __init__(self) -> None:
        self._patches = Patches()

    def install(self) -> None:
        fetcher = fetch._MapDatasetFetcher
        self._patches.replace(fetcher, "fetch", self._seeding(fetcher.fetch))

    def _seeding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def fetch(fetcher: Any, indices: Any) -> Any:
            with random_state_kept():
                _seed_host(
                    int.from_bytes(hashlib.blake2b(repr(indices).encode(), digest_size=4).digest(), "little")
                )
                return original(fetcher, indices)

        return fetch


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Of torch on the host, Python and numpy."""
    numpy = sys.modules.get("numpy")
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    numpy_state = numpy.random.get_state() if numpy is not None else None
    try:
        yield
    finally:
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
