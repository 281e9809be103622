"""What steps take on the processor if memory that is freed is kept: with glibc's malloc large tensors are
taken from the system anew each time, and each of their pages costs a fault.

Some steps as they are, then some with thresholds under which malloc keeps all. There is no way back: what it
had learned before cannot be read.

What a recording leaves high in the heap may make malloc keep all by itself. Where steps had many faults
before and have few now, they are steps with memory that is kept, and the plain ones were those without.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from statistics import fmean, median
from time import perf_counter_ns
from typing import Any

from .. import accelerator
from ..memory.heap import FAULTS_AT_LEAST, MMAP_MAX, MMAP_MAX_DEFAULT, TRIM_THRESHOLD, is_as_it_comes, mallopt
from ..phases.schedule import SECOND

_STEPS, _FEWEST = 8, 5  # of each kind: one that is shorter by itself, or ends an epoch, is to hide nothing
_LONG_NS, _LONGEST_NS = SECOND // 2, 2 * SECOND  # of steps, of which fewer are tried, or none: somebody waits
_WORTH_WAITING = 0.1  # of a long step's time, that the system works: less is not worth so many of them
_USUAL = 2.0  # × the median: longer steps do something else as well
_FIRST, _GROWING_AT_MOST = 2, 6  # steps that do not count; with memory that is kept while the heap grows
_GROWS = 0.5  # of the faults of a step as it is
_KEEPS_ALL, _LEARNED_AT_MOST = 2**31 - 1, 2**26


class HeapLook:
    """`begin` at a border between two steps, `step` at the end of each until it returns True."""

    what = "trying memory that is kept"

    def __init__(self, faults_before: Callable[[], float]) -> None:
        """`faults_before()`: page faults of a step before anything was recorded; 0 where nobody knows."""
        self.facts: dict[str, Any] | None = None
        self._faults_before = faults_before
        self._ns: list[int] = []
        self._faults: list[int] = []
        self._system_s: list[float] = []
        self._keeps = False
        self._each = _STEPS  # of each kind
        self._settled_at = 0  # the first step with memory that is kept that counts

    def begin(self) -> bool:
        """Whether malloc is glibc's, as it is."""
        if accelerator.devices() or not is_as_it_comes() or not mallopt(MMAP_MAX, MMAP_MAX_DEFAULT):
            return False
        self._ns, self._faults, self._system_s = [], [], []
        self._keeps, self._each, self._settled_at = False, _STEPS, 0
        self._begin_step()
        return True

    def step(self) -> bool:
        self._ns.append(perf_counter_ns() - self._began_ns)
        self._faults.append(_page_faults() - self._began_faults)
        self._system_s.append(_system_s() - self._began_system_s)
        steps = len(self._ns)
        if steps == _FIRST and not self._goes_on():
            return True
        if self._settled_at and steps == self._settled_at + self._each:
            self._tell()
            self.end()
            return True
        if self._keeps and not self._settled_at and self._has_settled(steps - _FIRST - self._each):
            self._settled_at = steps
        elif not self._settled_at and steps == _FIRST + self._each:
            self._keep(True)
        self._begin_step()
        return False

    def _goes_on(self) -> bool:
        """After the first steps: whether there is anything to try."""
        few = self._faults[-1] < FAULTS_AT_LEAST
        if few and self._faults_before() < FAULTS_AT_LEAST:
            self._tell()
            return False
        if few:
            self._settled_at = _FIRST
        if self._ns[-1] > _LONG_NS:
            self._each = _FEWEST
            return self._ns[-1] <= _LONGEST_NS and (few or self._system_works())
        return True

    def _system_works(self) -> bool:
        """For a visible part of the latest step."""
        return 1e9 * self._system_s[-1] >= _WORTH_WAITING * self._ns[-1]

    def end(self) -> None:
        """Harmless when repeated. What is freed is given back again."""
        if self._keeps:
            self._keep(False)

    def _has_settled(self, steps: int) -> bool:
        """After so many steps with memory that is kept."""
        grows = self._faults[-1] > _GROWS * self._faults[_FIRST + self._each - 1]
        return steps >= _FIRST and (not grows or steps >= _GROWING_AT_MOST)

    def _begin_step(self) -> None:
        self._began_ns, self._began_faults = perf_counter_ns(), _page_faults()
        self._began_system_s = _system_s()

    def _keep(self, keeps: bool) -> None:
        self._keeps = keeps
        mallopt(MMAP_MAX, 0 if keeps else MMAP_MAX_DEFAULT)
        mallopt(TRIM_THRESHOLD, _KEEPS_ALL if keeps else _LEARNED_AT_MOST)

    def _mean_system_s(self, steps: slice) -> float:
        """Without those steps that do something else as well: they start a process, or end an epoch."""
        ns, system_s = self._ns[steps], self._system_s[steps]
        usual = [its_s for its_ns, its_s in zip(ns, system_s, strict=True) if its_ns <= _USUAL * median(ns)]
        return fmean(usual or [0.0])

    def _tell(self) -> None:
        changed, as_is = slice(0, 0), slice(0, 0)
        if self._settled_at:
            changed = slice(self._settled_at, None)
        if self._keeps:
            as_is = slice(_FIRST, _FIRST + self._each)
        kept_s = self._mean_system_s(changed)
        self.facts = {
            "system_ms": round(1e3 * (self._mean_system_s(as_is) - kept_s), 3) if self._keeps else 0.0,
            "kept_system_ms": round(1e3 * kept_s, 3),
            "page_faults": int(median(self._faults[_FIRST - 1 : _FIRST + self._each])),
            "as_is_ms": [ns / 1e6 for ns in self._ns[as_is]],
            "changed_ms": [ns / 1e6 for ns in self._ns[changed]],
        }


def _page_faults() -> int:
    """Of all threads of this process so far, without reading anything from disk."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _system_s() -> float:
    """What the system has worked for all threads of this process so far, for their page faults and else."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime
