"""How the loaders are set up."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, dataloader

from .. import accelerator
from ..loading.loaders import uses_worker_info
from .base import Sites, given
from .constructors import ConstructorIntervention

_ONLY_WITH_WORKERS = {
    "persistent_workers": False,
    "prefetch_factor": None,
    "timeout": 0,
    "multiprocessing_context": None,
}


class LoaderArguments(ConstructorIntervention):
    """Other numbers of workers, and what goes with them.

    The random numbers that the script draws stay the same.
    """

    idle = "No DataLoader was made there."

    def __init__(
        self,
        sites: Sites,
        *,
        num_workers: int | None = None,
        persistent_workers: bool | None = None,
        pin_memory: bool | None = None,
        prefetch_factor: int | None = None,
        batch_size: int | None = None,
        multiprocessing_context: str | None = None,
    ) -> None:
        super().__init__(
            sites,
            given(
                batch_size=batch_size,
                multiprocessing_context=multiprocessing_context,
                num_workers=num_workers,
                persistent_workers=persistent_workers,
                pin_memory=pin_memory,
                prefetch_factor=prefetch_factor,
            ),
        )
        self._made_persistent: weakref.WeakSet[Any] = weakref.WeakSet()

    def install(self) -> None:
        self.patches.replace(DataLoader, "__init__", self.rewriting(DataLoader.__init__))
        iterator = dataloader._MultiProcessingDataLoaderIter
        self.patches.replace(iterator, "_reset", self._drawing_seed(iterator._reset))

    def replacements(self, instance: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        wanted = dict(self.wanted)
        if wanted.get("pin_memory") and accelerator.gpu_count() == 0:
            self.pass_over("Pinned memory needs a CUDA GPU, and there is none.")
            del wanted["pin_memory"]
        if "batch_size" in wanted and (
            arguments.get("batch_sampler") is not None or arguments.get("batch_size", 1) is None
        ):
            self.pass_over("The loader's batches are made by the script itself.")
            del wanted["batch_size"]
        workers = wanted.get("num_workers", arguments["num_workers"])
        if workers != arguments["num_workers"] and (obstacle := _obstacle(arguments, workers)):
            self.pass_over(obstacle)
            return {}
        method = wanted.get("multiprocessing_context")
        if workers and method not in (None, "fork") and (obstacle := _cannot_be_sent(arguments, method)):
            self.pass_over(obstacle)
            del wanted["multiprocessing_context"]
        if workers == 0:
            if wanted.get("persistent_workers") or wanted.get("prefetch_factor"):
                self.pass_over(
                    "The loader has no workers to which persistent_workers and prefetch_factor could apply."
                )
            wanted |= {name: value for name, value in _ONLY_WITH_WORKERS.items() if name in arguments}
        return self.differing(arguments, wanted)

    def constructed(self, instance: Any, replaced: dict[str, Any], own: dict[str, Any]) -> None:
        if replaced.get("persistent_workers"):
            self._made_persistent.add(instance)

    def _drawing_seed(self, original: Callable[..., None]) -> Callable[..., None]:
        """Each new iterator draws a seed; one that is kept for the next epoch does not, and the next
        shuffle would come out differently.
        """

        def _reset(iterator: Any, loader: Any, first_iter: bool = False) -> None:
            if not first_iter and loader in self._made_persistent:
                torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
            original(iterator, loader, first_iter)

        return _reset


def _obstacle(arguments: dict[str, Any], workers: int) -> str:
    """Why this loader cannot have so many workers; empty if it can."""
    dataset = arguments["dataset"]
    if workers > 1 and isinstance(dataset, IterableDataset):
        with contextlib.suppress(Exception):  # a dataset of an unusual make
            if uses_worker_info(SimpleNamespace(dataset=dataset, worker_init_fn=arguments["worker_init_fn"])):
                return ""
        return (
            f"{type(dataset).__name__} does not ask which worker it is in: each worker would deliver all "
            "its data again."
        )
    if arguments["num_workers"]:  # the script starts such processes by itself
        return ""
    if multiprocessing.current_process().daemon:
        return "The process that makes the loader is a daemon of multiprocessing, which may not start others."
    # A loader that is made without workers has no context of its own. Asking with
    # `allow_none=False` would settle the script's choice.
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    if method != "fork":
        return _cannot_be_sent(arguments, method)
    return (
        "The dataset keeps tensors on the GPU, which forked workers cannot use." if _on_gpu(dataset) else ""
    )


def _cannot_be_sent(arguments: dict[str, Any], method: str) -> str:
    """Why the loader cannot hand its work to processes that do not inherit it (`spawn`, as in a
    rank of `torch.multiprocessing.spawn`).
    """
    for name in ("dataset", "collate_fn", "worker_init_fn"):
        try:
            _DryPickler(_Nowhere(), protocol=5, buffer_callback=lambda buffer: None).dump(arguments[name])
        except Exception as error:  # what a class of the script's own raises
            return (
                f"Worker processes get their work by pickle here ({method}), and the loader's {name} cannot "
                f"be pickled: {error}"
            )
    return ""


class _Nowhere:
    def write(self, part: bytes) -> int:
        return len(part)


class _DryPickler(pickle.Pickler):
    """Pickles all but tensors, which torch sends through shared memory: large ones are not copied here."""

    def reducer_override(self, value: Any) -> Any:
        return (int, ()) if isinstance(value, (torch.Tensor, torch.UntypedStorage)) else NotImplemented


def _on_gpu(dataset: Any) -> bool:
    values = list(getattr(dataset, "__dict__", {}).values())
    values += [inside for value in values if isinstance(value, (list, tuple)) for inside in value[:100]]
    return any(isinstance(value, torch.Tensor) and value.is_cuda for value in values)
