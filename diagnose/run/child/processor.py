"""What the thread that trains had of the processor: how long it ran, and how long
it was ready to run and had no core.

Read at every tick, and where the parts of a step begin and end while these are timed or recorded. A sample
is two or three system calls, about 1.5 µs; what the kernel answered is only read when the samples are
written. A system call is also where the kernel likes to give the core to somebody else, so a sample notes
the time before, in the middle and after.
"""

from __future__ import annotations

import contextlib
import os
import struct
from threading import get_ident, get_native_id
from time import perf_counter_ns, thread_time_ns

import torch

from .descriptors import close_ours, open_ours

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

FILE = "processor.bin"
TICK, TICK_ENDS = 0, 5  # what the recorder itself does at a tick lies between
# a part begins at its number and ends at the negative one
PARTS = {"forward": 1, "backward": 2, "optimizer": 3, "next": 4}
_UNKNOWN = -1
_THREAD = getattr(resource, "RUSAGE_THREAD", None)  # Linux only

_RECORD = struct.Struct("<qqqqqqqq")  # see docs/architecture.md, *processor.bin*
_SAMPLES_AT_MOST = 50_000  # a phase
_ANSWER_BYTES = 64
_THREADS_AT_MOST = 16  # that are asked about themselves
_READ_NS = 1_000  # one file of the kernel's
# the files of other threads are read where that takes at most one in so many parts of a step
_STEP_OVER_READS = 200


class Processor:
    """Samples of the thread that called `begin` last; calls of other threads are passed over."""

    def __init__(self) -> None:
        self._thread = 0
        self._own = -1  # the kernel's file about this thread
        self._pool: tuple[int, ...] = ()  # and those about the threads that compute beside it
        self._raw: list[tuple[int, int, int, int, int, bytes, int, tuple[bytes, ...]]] = []
        self._packed = bytearray()
        self._pool_before: tuple[int, ...] = ()
        self._pool_delay_ns = 0

    def begin(self, step_ns: int) -> None:
        """A phase begins in the thread that trains; steps took that long before, 0 if nobody knows."""
        with contextlib.suppress(Exception):
            self.close()
            self._own = _opened("thread-self")
            names = _busiest_others(torch.get_num_threads() - 1) if self._own >= 0 else []
            if len(names) * _READ_NS * _STEP_OVER_READS <= step_ns:
                self._pool = tuple(file for name in names if (file := _opened(f"self/task/{name}")) >= 0)
            self._thread = get_ident()

    def sample(self, border: int = TICK, now_ns: int = 0) -> None:
        """Now; `now_ns` if that has just been read."""
        if get_ident() != self._thread:
            return
        try:
            begin_ns = now_ns or perf_counter_ns()
            ran_ns = thread_time_ns()
            middle_ns = perf_counter_ns()
            own = os.pread(self._own, _ANSWER_BYTES, 0) if self._own >= 0 else b""
            switches = resource.getrusage(_THREAD).ru_nivcsw if not own and _THREAD is not None else _UNKNOWN
            pool = self._answers_of_pool() if self._pool else ()
            self._raw.append((border, begin_ns, middle_ns, perf_counter_ns(), ran_ns, own, switches, pool))
        except Exception:  # the script closed our files
            self._thread = 0
        if len(self._raw) >= _SAMPLES_AT_MOST:
            self._thread = 0

    def _answers_of_pool(self) -> tuple[bytes, ...]:
        try:
            return tuple([os.pread(file, _ANSWER_BYTES, 0) for file in self._pool])
        except OSError:  # one of the threads ended
            return ()

    def close(self) -> None:
        """No more samples until the next `begin`."""
        self._thread = 0
        for file in (self._own, *self._pool):
            if file >= 0:
                with contextlib.suppress(OSError):
                    close_ours(file)
        self._own, self._pool = -1, ()
        self._pack()
        self._pool_before = ()

    def forget(self) -> None:
        """In a forked child, and where a better clock begins anew: nothing that was read counts."""
        self.close()
        self._packed.clear()

    def write(self, folder: str) -> None:
        """Replace the file in `folder` by all samples so far. Raises OSError."""
        self._pack()
        if self._packed:
            path = os.path.join(folder, FILE)
            with open(path + ".unfinished", "wb") as file:
                file.write(self._packed)
            os.replace(path + ".unfinished", path)

    def _pack(self) -> None:
        """Read what the kernel answered since the last time.

        Of several threads beside this one the one that waited longest counts.
        """
        raw, self._raw = self._raw, []
        for *moments, ran_ns, own, switches, pool in raw:
            delays = tuple(map(_delay_ns, pool))
            if len(self._pool_before) == len(delays):
                self._pool_delay_ns += max(
                    (later - earlier for later, earlier in zip(delays, self._pool_before, strict=True)),
                    default=0,
                )
            self._pool_before = delays
            self._packed += _RECORD.pack(
                *moments, ran_ns, _delay_ns(own), self._pool_delay_ns if pool else _UNKNOWN, switches
            )


class ThreadDelay:
    """How long the thread that asks has been ready to run and had no core."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}  # the kernel's, by thread

    def ns(self) -> int:
        """So far, of the calling thread; -1 where the system does not tell."""
        try:
            file = self._files.get(get_ident())
            if file is None:
                file = _opened("thread-self") if len(self._files) < _THREADS_AT_MOST else -1
                self._files[get_ident()] = file
            return _delay_ns(os.pread(file, _ANSWER_BYTES, 0)) if file >= 0 else _UNKNOWN
        except Exception:  # the script closed our files
            return _UNKNOWN

    def close(self) -> None:
        """Forget everything: in a forked child, whose threads are others, or at the end."""
        files, self._files = self._files, {}
        for file in files.values():
            if file >= 0:
                with contextlib.suppress(OSError):
                    close_ours(file)


def _delay_ns(answer: bytes) -> int:
    """Of a thread's schedstat: time it ran, time it was ready and had no core, how often it got one."""
    return int(answer.split()[1]) if answer else _UNKNOWN


def _opened(name: str) -> int:
    """The kernel's file about a thread; -1 where there is none."""
    try:
        return open_ours(f"/proc/{name}/schedstat", os.O_RDONLY)
    except OSError:
        return -1


def _busiest_others(count: int) -> list[str]:
    """The other threads of the process that have run longest so far: those torch computes with."""
    ran_ns: dict[str, int] = {}
    for name in os.listdir("/proc/self/task"):
        with (
            contextlib.suppress(OSError, ValueError),
            open(f"/proc/self/task/{name}/schedstat", "rb") as file,
        ):
            ran_ns[name] = int(file.read().split()[0])
    ran_ns.pop(str(get_native_id()), None)
    return sorted(ran_ns, key=ran_ns.__getitem__, reverse=True)[: max(0, count)]
