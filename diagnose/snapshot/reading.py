"""A snapshot's pickle, read without trusting it.

Source of the format: torch/cuda/memory.py (`memory_snapshot`) and torch/csrc/cuda/memory_snapshot.cpp.
"""

from __future__ import annotations

import pickle
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

from diagnose.errors import TraceUnreadable
from diagnose.trace.memory import limit_for

_GROWS = 40  # times the file: what its objects take in Python, at most (measured: 15 to 25)
_DO = "dump it again: torch.cuda.memory._record_memory_history(), then _dump_snapshot('snapshot.pickle')"


class Block(msgspec.Struct):
    """A piece of a segment, bytes. ``state``: active_allocated, active_awaiting_free (some stream may still
    use it) or inactive.
    """

    size: int
    state: str
    address: int | None = None
    requested_size: int | None = None
    frames: Any = ()


class Segment(msgspec.Struct):
    """What the allocator has from the driver; bytes."""

    total_size: int
    blocks: list[Block]
    address: int = 0
    device: int = 0
    segment_type: str = ""
    is_expandable: bool = False


class Event(msgspec.Struct):
    """What the allocator did, oldest first; bytes."""

    action: str
    addr: int = 0
    size: int = 0
    time_us: int = 0
    device_free: int | None = None
    frames: Any = ()


class Snapshot(msgspec.Struct):
    """``device_traces``: by device."""

    segments: list[Segment]
    device_traces: list[list[Event]] = []


class _Plain(pickle.Unpickler):
    """Numbers, texts, lists, tuples and dicts: all that a snapshot is made of."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside")


def read_snapshot(path: Path, memory_limit: int | None = None) -> Snapshot:
    """Raises UsageError for a file that would take more than ``memory_limit`` bytes (half of what is free, if
    None), TraceUnreadable for one that is no snapshot or damaged.
    """
    limit = limit_for(path, _GROWS, memory_limit, "record less: _record_memory_history(max_entries=100000)")
    try:
        with path.open("rb") as file, _at_most(limit):
            found = _Plain(file).load()
            return msgspec.convert(found, Snapshot)
    except msgspec.ValidationError as error:
        raise TraceUnreadable(f"{path} is no snapshot of a GPU's memory", saw=str(error), do=_DO) from error
    except (MemoryError, RecursionError) as error:
        saw = f"{type(error).__name__} while it was read"
        raise TraceUnreadable(f"{path} is damaged or hostile", saw=saw, do=_DO) from error
    except Exception as error:  # the unpickler raises whatever a damaged file makes it do
        saw = f"{type(error).__name__}: {error}"
        raise TraceUnreadable(f"{path} cannot be read as a snapshot", saw=saw, do=_DO) from error


@contextmanager
def _at_most(more: int) -> Iterator[None]:
    """No more memory than that beside what the process has: a few bytes of a pickle can ask for any."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + more
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, soft)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
