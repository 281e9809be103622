"""Whether memory ran out: of the GPU at any time, and whether the script died of it, at
which line and after how many ticks.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from .. import accelerator
from ..places import NOWHERE, Place, Places

_CHAIN_AT_MOST = 20
_LENGTH_AT_MOST = 300
_GPU_TEXT = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|CU(BLAS|DNN|SPARSE|SOLVER)_STATUS_ALLOC_FAILED"
)
_HOST_TEXT = re.compile(r"DefaultCPUAllocator: (can't allocate|not enough) memory|Cannot allocate memory")


def fatal_memory_error(
    error: BaseException | None, places: Places, tick_count: int | None
) -> dict[str, Any] | None:
    """What the script died of, if that is a lack of memory: the error itself, or one that led to it.

    `tick_count`: None if unknown.
    """
    for one in chain(error):
        device = _device(one)
        if device:
            message = (str(one).splitlines() or [""])[0][:_LENGTH_AT_MOST]
            return {
                "device": device,
                "tick_count": tick_count,
                "message": message,
                **_raised_at(one, places)._asdict(),
            }
    return None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_CHAIN_AT_MOST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _device(error: BaseException) -> str:
    """Whose memory it was, `cuda` or `cpu`; empty for any other error."""
    if isinstance(error, accelerator.OutOfMemory):
        return "cuda"
    if isinstance(error, MemoryError):
        return "cpu"
    text = str(error) if isinstance(error, (RuntimeError, OSError)) else ""
    return "cuda" if _GPU_TEXT.search(text) else "cpu" if _HOST_TEXT.search(text) else ""


def _raised_at(error: BaseException, places: Places) -> Place:
    """The innermost line of the user's own code on the way to it."""
    place, step = NOWHERE, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if file := places.user_file(code.co_filename):
            place = Place(file, step.tb_lineno or -1, code.co_name)
        step = step.tb_next
    return place


def gpu_out_of_memory_count() -> int | None:
    """How often the GPU had no memory left so far; None where none is in use, which stays as it is."""
    with contextlib.suppress(Exception):
        return accelerator.out_of_memory_count()
    return None
