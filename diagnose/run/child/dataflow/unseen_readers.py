"""Whether something may read tensors without a mode of torch's being told: scripted functions, extensions in
C++, other threads, transforms of `torch.func`, and what runs within a backward.
"""

from __future__ import annotations

import gc
import sys
import threading
from importlib.machinery import ExtensionFileLoader
from typing import Any

import torch
from torch.utils.data import dataloader

# extensions of these read tensors as arrays, which is told
_ARRAYS = ("torch", "numpy", "scipy", "pandas", "sklearn", "PIL", "matplotlib", "pyarrow", "cv2", "msgspec")
_LINKED = (b"libtorch", b"libc10")
_BYTES_AT_MOST = 1 << 26


def may_read_unseen() -> bool:
    """About 80 ms for a million objects."""
    scripted = (torch.jit.ScriptFunction, torch.jit.ScriptModule)
    objects = gc.get_objects()
    return (
        _other_threads_run(objects)
        or any(map(_is_of_torch, list(sys.modules.values())))
        or any(issubclass(kind, scripted) for kind in set(map(type, objects)))
    )


def _other_threads_run(objects: list[Any]) -> bool:
    """Which may be given what this one has made. Those of a loader are not: one sends numbers of samples to
    each worker, one pins batches.
    """
    loaders = [one for one in objects if type(one) is dataloader._MultiProcessingDataLoaderIter]
    own = {id(getattr(loader, "_pin_memory_thread", None)) for loader in loaders}
    own |= {id(getattr(queue, "_thread", None)) for loader in loaders for queue in loader._index_queues}
    return any(
        thread is not threading.current_thread() and id(thread) not in own and not _shows_progress(thread)
        for thread in threading.enumerate()
    )


def _shows_progress(thread: threading.Thread) -> bool:
    return type(thread).__module__.startswith("tqdm.")


def is_of_own_function(node: Any) -> bool:
    """Whether a node is a `torch.autograd.Function`'s, whose backward reads what its forward has kept."""
    return isinstance(node, torch._C._FunctionBase)


def _is_of_torch(module: Any) -> bool:
    """An extension that is linked to torch; also one that cannot be looked at."""
    spec = getattr(module, "__spec__", None)
    if not isinstance(getattr(spec, "loader", None), ExtensionFileLoader) or spec is None:
        return False
    if spec.name.partition(".")[0] in (*_ARRAYS, *sys.stdlib_module_names):
        return False
    try:
        with open(spec.origin or "", "rb") as file:
            content = file.read(_BYTES_AT_MOST)
    except OSError:
        return True
    return any(name in content for name in _LINKED)
