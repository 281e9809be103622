"""Trials while other programs hold the cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .facts.machine import usable_cores

_BUSY = 1.2  # threads that would run for each core, of this process and of others


@contextmanager
def alone_on_a_core() -> Iterator[None]:
    """With one thread while others hold the cores: waiting for each other, several take any time. By
    `torch._C`, so that it is not taken for the script's own call.
    """
    threads, is_busy = torch.get_num_threads(), os.getloadavg()[0] > _BUSY * usable_cores()
    if not is_busy or threads == 1:
        yield
        return
    torch._C.set_num_threads(1)
    try:
        yield
    finally:
        torch._C.set_num_threads(threads)
