"""One recording at a time with torch's profiler: start, stop, export."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.profiler import profile, python_tracer

from ..accelerator import Activities
from ..memory.heap_as_it_was import HeapAsItWas
from ..patching import Patches
from .marks import Marks
from .other_profilers import OtherProfilers
from .ranges import mark


def _all_threads() -> Any:
    """The setting that sees training in a thread; None where torch does not offer it."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        return _ExperimentalConfig(profile_all_threads=True)
    except (ImportError, TypeError):
        return None


_ALL_THREADS = _all_threads()
_STACKS_SAFE = (2, 8)
_RESULTS = ("kineto_results", "_function_events", "_old_function_events")  # of torch's inner profiler
STACKS_CRASH = (
    "Source lines come from marks alone: before torch 2.8 a recording with stacks can crash the script "
    "(pytorch#151625)."
)


def stacks_are_safe() -> bool:
    """False where torch may free Python objects twice when a recording with stacks ends."""
    numbers = re.match(r"(\d+)\.(\d+)", torch.__version__)
    return numbers is None or (int(numbers[1]), int(numbers[2])) >= _STACKS_SAFE


@contextlib.contextmanager
def _without_needless_import() -> Iterator[None]:
    """torch's profiler asks whether CUDA graphs are on and imports the whole compiler for it:
    seconds, unless the script has done so.
    """
    lazy: set[str] = getattr(torch, "_lazy_modules", set())
    needless = set() if "torch._inductor" in sys.modules else {"_inductor"} & lazy
    lazy -= needless
    try:
        yield
    finally:
        lazy |= needless


@contextlib.contextmanager
def _full_paths() -> Iterator[None]:
    """The profiler cuts known folders off the names of files; which file
    "train.py" is cannot be told afterwards.
    """
    patches = Patches()
    if hasattr(python_tracer, "_prefix_regex"):
        patches.replace(python_tracer, "_prefix_regex", lambda: [])
    try:
        yield
    finally:
        patches.restore()


def _profiler(activities: Activities, *, stacks: bool, one_thread: bool) -> profile:
    return profile(
        activities=activities.decided(),
        record_shapes=True,
        with_stack=stacks,
        with_modules=stacks,
        experimental_config=None if one_thread else _ALL_THREADS,
    )


@contextlib.contextmanager
def recording_session(activities: Activities) -> Iterator[None]:
    """A recording without stacks or marks, of which nothing is kept."""
    with _without_needless_import(), _profiler(activities, stacks=False, one_thread=_ALL_THREADS is None):
        yield


class Recording:
    """A profiler with the marks that belong to it, from `start` to `stop`;
    `export` may follow later, or never.
    """

    def __init__(
        self,
        marks: Marks,
        foreign: OtherProfilers,
        activities: Activities,
        heap: HeapAsItWas,
        *,
        stacks: bool,
    ) -> None:
        self.running = False
        self._thread = 0
        self._marks, self._foreign, self._heap = marks, foreign, heap
        self.stacks = stacks
        # stacks of all threads crash torch 2.13 in the garbage collector
        self._one_thread = stacks or _ALL_THREADS is None
        self.profiler: profile | None = _profiler(activities, stacks=stacks, one_thread=self._one_thread)

    def start(self, tick: int | None, thread_ends: Callable[[], None]) -> None:
        """`tick`: the one that the recording begins with, None if its first step is not to count.

        `thread_ends` is called by this thread at its end, if it is not the main
        one and ends while the recording runs.
        """
        assert self.profiler is not None
        self._thread = threading.get_ident()
        self._call_at_end_of_thread(thread_ends)
        self._heap.recording_begins()
        with _without_needless_import():
            self.profiler.start()
        self._foreign.ours_started(self.profiler.profiler)
        self.running = True
        self._marks.install(operators=self.stacks)
        if tick is not None:
            mark_tick(tick)

    def stop(self) -> None:
        """Stop recording. Raises RuntimeError in another thread than the one that
        started, where that would crash torch.
        """
        if self._one_thread and self._thread != threading.get_ident():
            raise RuntimeError("the thread that trained has ended")
        assert self.profiler is not None
        self._heap.recording_ends()
        self._marks.remove()
        self._foreign.ours_stops()
        self.running = False
        with _full_paths():
            self.profiler.stop()

    @property
    def is_of_this_thread(self) -> bool:
        """Whether this thread began it."""
        return self._thread == threading.get_ident()

    def _call_at_end_of_thread(self, thread_ends: Callable[[], None]) -> None:
        """A recording with stacks whose thread is gone can neither be stopped nor left alone without a
        crash.
        """
        thread: Any = threading.current_thread()
        delete = getattr(thread, "_delete", None)  # what a thread of `threading` does last
        if thread is threading.main_thread() or delete is None:
            return

        def last() -> None:
            if self.running:
                with contextlib.suppress(Exception):
                    thread_ends()
            delete()

        thread._delete = last

    def export(self, path: str) -> None:
        """Write the trace to `path` (.json or .json.gz), complete or not at all.

        Raises OSError, RuntimeError.
        """
        assert self.profiler is not None
        folder, name = os.path.split(path)
        unfinished = os.path.join(folder, "unfinished-" + name)
        try:
            export_trace(self.profiler, unfinished)
            os.replace(unfinished, path)
        except Exception as error:
            # What lies there halfway takes the room that the rest needs.
            for left in os.listdir(folder):
                if left.startswith("unfinished-"):
                    _remove(os.path.join(folder, left))
            if isinstance(error, FileNotFoundError):  # torch does not say that there was no room
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise

    def discard(self) -> None:
        """Stop if need be and free what was recorded."""
        if self.running:
            self.stop()
        # torch's profiler refers to itself, and some kB an event would stay until a full garbage collection
        inner = self.profiler.profiler if self.profiler is not None else None
        for name in _RESULTS:
            if hasattr(inner, name):
                setattr(inner, name, None)
        self.profiler = None
        self._heap.recording_is_gone()


def mark_tick(number: int) -> None:
    """The border between two steps, an instant on the recording."""
    with mark(f"diagnose::tick|{number}"):
        pass


def _remove(path: str) -> None:
    """Give the room back even while torch still holds the file open."""
    with contextlib.suppress(OSError):
        os.truncate(path, 0)
        os.remove(path)


def export_trace(profiler: Any, path: str) -> None:
    """`export_chrome_trace` with the lightest compression; torch's own
    spends most of its time in gzip level 9.
    """
    if not path.endswith(".gz"):
        profiler.export_chrome_trace(path)
        return
    import gzip
    import shutil

    plain = path[: -len(".gz")]
    profiler.export_chrome_trace(plain)
    try:
        with open(plain, "rb") as source, gzip.open(path, "wb", compresslevel=1) as packed:
            shutil.copyfileobj(source, packed, 1 << 20)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(plain)
