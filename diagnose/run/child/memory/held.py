"""What held the memory when it ran out: every storage that is still there while the error is, by whose it is,
by the graph that keeps it for the backward, or by the variable that holds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor

from ..places import NOWHERE, Place, Places
from ..uncompiled_mode import UncompiledMode
from .memory_errors import chain
from .storage_log import Origin, StorageLog
from .storages import living, owners, storage_of

_NODES_AT_MOST = 100_000


def held_at(error: BaseException, places: Places) -> dict[str, Any]:
    """memory.json of that moment. To be asked while the error's frames are there."""
    log = StorageLog()

    def add(tensor: Tensor, part: str, place: Place, name: str) -> None:
        storage = storage_of(tensor)
        if storage is not None and storage not in log and not log.is_full:
            log.add(storage, Origin(part, place, name, ""), made=False)

    alive = living()
    for part, place, name, tensor in _variables(error, places):
        add(tensor, part, place, name)
    with _NothingIsComputed():  # as checkpoints would, for what they have packed away
        for name, tensor in _kept_for_backward(alive.tensors):
            add(tensor, "activations", NOWHERE, name)
    for tensor in alive.tensors:
        add(tensor, "before", NOWHERE, "")
    for key, owner in owners(alive).items():
        log.belongs(key, owner.part, owner.name)
    log.end_step()
    log.close()
    return log.told(ran_out=True)


class _NothingIsComputed(UncompiledMode):
    """Every operator raises."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("nothing is computed any more")


def _variables(error: BaseException, places: Places) -> Iterator[tuple[str, Place, str, Tensor]]:
    """Of the script's functions that were running: what each tensor is for, where the function was, and what
    it calls the tensor.
    """
    for one in chain(error):
        step = one.__traceback__
        in_forward = False
        while step is not None:
            code = step.tb_frame.f_code
            in_forward = in_forward or code.co_name == "_call_impl"
            if file := places.user_file(code.co_filename):
                place = Place(file, step.tb_lineno or -1, code.co_name)
                for name, value in step.tb_frame.f_locals.items():
                    for tensor in _among(value):
                        yield "forward" if in_forward else "elsewhere", place, name, tensor
            step = step.tb_next


def _among(value: Any) -> Iterable[Tensor]:
    """The tensor itself, or those in a list, a tuple or a dict."""
    inside = (
        list(value.values()) if type(value) is dict else value if type(value) in (list, tuple) else [value]
    )
    return [one for one in inside if issubclass(type(one), Tensor)]


def _kept_for_backward(roots: Iterable[Tensor]) -> Iterator[tuple[str, Tensor]]:
    """What autograd's graphs keep, with the name of the node that keeps it."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    while waiting and len(seen) < _NODES_AT_MOST:
        node = waiting.pop()
        for name in dir(node):
            if name.startswith("_saved_"):
                with contextlib.suppress(Exception):  # its backward has run, and nothing is kept
                    for tensor in _among(getattr(node, name)):
                        yield str(node.name()), tensor
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
