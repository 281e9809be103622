"""Once everything is recorded: steps in which the script's lines are timed, one whose dataflow is looked at,
and what a step takes with a setting changed: a few steps as they are and a few with anomaly detection off,
with another number of threads, with other updates, without gradients, in turns.

No recording tells what such a setting costs: it slows everything a little, or what comes in its place takes
time as well. Results stay what they are, but for the last digits that another number of threads and other
updates may change; so these are tried only where the script is stopped afterwards. Only what is in use is
tried: anomaly detection that is on, fewer threads than there are cores (all, where somebody has set them),
several threads (one), updates that are not fused, or lists of tensors where there is no fused one, graphs
that nobody uses.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from time import perf_counter_ns, thread_time_ns
from typing import Any, Protocol

import torch

from .. import accelerator
from ..facts.machine import usable_cores
from ..facts.models import CallCounts
from ..facts.usage import UsedSoFar, others_share, read_counters
from ..guard import attempt, note
from ..patching import Patches
from ..phases.schedule import SECOND
from ..tensors import tensors_near
from .update_trials import ForeachUpdate, FusedUpdate

_PAIRS_AT_LEAST, _PAIRS_AT_MOST = 4, 16
_ENOUGH_NS = 3 * SECOND // 2  # of one trial with enough pairs
_CLEARLY = 2  # times as long as the longest step as it is: a setting under which all steps take that is none
_TOO_LONG_NS = 5 * SECOND  # of all trials together: somebody waits
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Look(Protocol):
    """At some steps, from a border between two on: told of the end of each until it has seen enough."""

    what: str

    def begin(self) -> bool:
        """Whether there is anything to look at."""

    def step(self) -> bool:
        """Whether this was the last one."""

    def end(self) -> None: ...


class _Setting(Protocol):
    name: str

    @property
    def clock(self) -> Callable[[], int]:
        """ns: of steps, or of the part of them that the setting is about."""

    def value(self) -> int | bool | None:
        """What is to be tried; None where there is nothing to try."""

    def begin(self) -> None: ...
    def change(self) -> None: ...
    def change_back(self) -> None: ...
    def end(self) -> None: ...


class SettingTrials:
    """`begin` once all is recorded, then `step` at the end of each step until it returns True; `end` at any
    time puts everything back.
    """

    def __init__(
        self,
        calls: CallCounts,
        place_for: Callable[[str], tuple[Any, str]],
        *,
        looks: Sequence[Look],
        early_looks: Sequence[Look] = (),
        threads_set: Callable[[], bool],
        may_round_otherwise: bool,
    ) -> None:
        """`looks` come first, one after the other; `early_looks` are for `begin_early`; `threads_set()`:
        whether the script has called `torch.set_num_threads`.
        """
        self._looks, self._early_looks = looks, early_looks
        self._settings: list[_Setting] = [_AnomalyOff(calls), _NoGradients(calls, place_for)]
        if may_round_otherwise:
            # one thread last: for long steps, which leave no time for it, it is seldom faster
            self._settings += [
                _AllCores(threads_set),
                FusedUpdate(calls.optimizers, place_for),
                ForeachUpdate(calls.optimizers, place_for),
                _OneThread(),
            ]
        self._looks_to_come: list[Look] = []
        self._waiting: list[_Setting] = []
        self._trial: _Trial | Look | None = None
        self._until_ns = self._step_ns = 0
        self.facts: list[dict[str, Any]] = []

    @property
    def running(self) -> bool:
        return self._trial is not None

    def begin(self, step_ns: int = 0) -> bool:
        """Whether there is anything to try, with steps of about that length."""
        self._waiting = list(self._settings)
        self._looks_to_come = list(self._looks) if step_ns < _TOO_LONG_NS else []
        self._until_ns, self._step_ns = perf_counter_ns() + _TOO_LONG_NS, step_ns
        self._next()
        return self.running

    def begin_early(self) -> bool:
        """The script may end before all is recorded: whether there is anything that is not to wait for it."""
        self._waiting, self._looks_to_come = [], list(self._early_looks)
        self._next()
        return self.running

    def step(self) -> bool:
        """A step has ended. Whether all is tried."""
        if self._trial is not None:
            try:
                over = self._trial.step()
            except Exception as error:
                note("trying a setting", error)
                over = True
            if over:
                self._keep()
                self._next()
        return not self.running

    def end(self) -> None:
        """Harmless when repeated."""
        self._waiting, self._looks_to_come = [], []
        self._keep()

    def _next(self) -> None:
        while self._looks_to_come and self._trial is None:
            look = self._looks_to_come.pop(0)
            if _begins(look):
                self._trial = look
        while self._waiting and self._trial is None:
            setting = self._waiting.pop(0)
            if perf_counter_ns() + 2 * (_PAIRS_AT_LEAST + 1) * self._step_ns > self._until_ns:
                return  # it would be cut short, and tell nothing
            value = attempt("looking for settings to try", setting.value, None)
            if value is not None:
                self._trial = attempt(
                    "trying a setting", functools.partial(_Trial, setting, value, self._until_ns), None
                )

    def _keep(self) -> None:
        trial, self._trial = self._trial, None
        if trial is not None:
            attempt("putting a setting back", trial.end, None)
        if isinstance(trial, _Trial):
            facts = trial.facts()
            if facts is not None:
                self.facts.append(facts)
        elif trial is not None:  # the trials begin after the last look
            self._until_ns = perf_counter_ns() + _TOO_LONG_NS


def _begins(look: Look) -> bool:
    """Whether there is anything to look at. What fails halfway is put back."""
    try:
        return look.begin()
    except Exception as error:
        note(look.what, error)
        attempt(look.what, look.end, None)
        return False


class _Trial:
    """Steps as they are (A) and with the setting changed (B): A B B A A B B A …, from a border between two
    steps on. The first two are not counted: what is used for the first time is slow.
    """

    def __init__(self, setting: _Setting, value: int | bool, until_ns: int) -> None:
        self._setting, self._value, self._until_ns = setting, value, until_ns
        self._ns: list[int] = []
        self._turn = False
        self._after: UsedSoFar | None = None
        try:
            setting.begin()
            # A setting of the training thread's own work is told by that thread's processor time, which other
            # programs disturb least.
            self._clock = perf_counter_ns if accelerator.devices() else setting.clock
            self._before = read_counters()
            self._began_ns, self._step_began_ns = perf_counter_ns(), self._clock()
        except BaseException:
            setting.end()
            raise

    def step(self) -> bool:
        """Whether this was the last one."""
        accelerator.synchronize()
        self._ns.append(self._clock() - self._step_began_ns)
        if self._is_over(perf_counter_ns() - self._began_ns):
            return True
        turn = is_changed(len(self._ns))
        if turn != self._turn:
            self._turn = turn
            (self._setting.change if turn else self._setting.change_back)()
        self._step_began_ns = self._clock()
        return False

    def _is_over(self, elapsed_ns: int) -> bool:
        pairs, half = divmod(len(self._ns), 2)
        enough = (
            not half and pairs > _PAIRS_AT_LEAST and (elapsed_ns >= _ENOUGH_NS or self._is_clearly_slower)
        )
        return enough or pairs > _PAIRS_AT_MOST or self._began_ns + elapsed_ns >= self._until_ns

    @property
    def _is_clearly_slower(self) -> bool:
        as_is, changed = self._whole_ns
        return min(changed) > _CLEARLY * max(as_is)

    @property
    def _whole_ns(self) -> tuple[list[int], list[int]]:
        """Of whole pairs but the first: steps as they are, and with the setting changed."""
        whole = range(2, len(self._ns) // 2 * 2)
        as_is, changed = ([self._ns[at] for at in whole if is_changed(at) is one] for one in (False, True))
        return as_is, changed

    def end(self) -> None:
        try:
            if self._turn:
                self._setting.change_back()
        finally:
            self._setting.end()
        self._after = read_counters()

    def facts(self) -> dict[str, Any] | None:
        """Of whole pairs, ms by the setting's clock; None where it has not ended as it should."""
        if self._after is None:
            return None
        as_is, changed = self._whole_ns
        return {
            "setting": self._setting.name,
            "value": self._value,
            "as_is_ms": [ns / 1e6 for ns in as_is],
            "changed_ms": [ns / 1e6 for ns in changed],
            "others_share": others_share(self._before, self._after),
        }


def is_changed(step: int) -> bool:
    """Whether that step, from 0 on, has the setting changed."""
    return step % 4 in (1, 2)


# `torch._C`: what the script does not call, so that it is not taken for the script's own call


class _AnomalyOff:
    """Anomaly detection stays off, whatever the script switches; what it asked for holds again afterwards."""

    name = "anomaly_mode"
    clock = staticmethod(thread_time_ns)

    def __init__(self, calls: CallCounts) -> None:
        self._calls = calls
        self._patches = Patches()
        self._off = False

    def value(self) -> bool | None:
        return False if self._calls.anomaly_mode else None

    def begin(self) -> None:
        self._asked = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        self._patches.replace(torch, "set_anomaly_enabled", self._remembering(torch.set_anomaly_enabled))
        # a context reads it to put it back at its end
        self._patches.replace(torch, "is_anomaly_enabled", lambda: self._asked[0])

    def change(self) -> None:
        self._off = True
        torch._C.set_anomaly_enabled(False, self._asked[1])

    def change_back(self) -> None:
        self._off = False
        torch._C.set_anomaly_enabled(*self._asked)

    def end(self) -> None:
        self._patches.restore()

    def _remembering(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
            self._asked = enabled, check_nan
            original(enabled and not self._off, check_nan)

        return set_anomaly_enabled


class _Threads:
    """Another number of threads, where the processor computes the steps. What the script sets meanwhile holds
    afterwards.
    """

    name = ""
    clock = staticmethod(perf_counter_ns)

    def __init__(self) -> None:
        self._patches = Patches()
        self._changed = False

    def _count(self) -> int:
        raise NotImplementedError

    def begin(self) -> None:
        self._in_force = torch.get_num_threads
        self._as_is, self._tried = self._in_force(), self._count()
        self._patches.replace(torch, "set_num_threads", self._remembering(torch.set_num_threads))
        self._patches.replace(torch, "get_num_threads", lambda: self._as_is)

    def change(self) -> None:
        self._changed = True
        torch._C.set_num_threads(self._tried)

    def change_back(self) -> None:
        self._changed = False
        torch._C.set_num_threads(self._as_is)

    def end(self) -> None:
        self._patches.restore()

    def _remembering(self, original: Callable[[int], None]) -> Callable[[int], None]:
        @functools.wraps(original)
        def set_num_threads(count: int) -> None:
            original(count)  # which raises where that is no number
            self._as_is = self._in_force()
            if self._changed:
                torch._C.set_num_threads(self._tried)

        return set_num_threads


class _AllCores(_Threads):
    """As many as there are cores, where there are more, or somebody has set fewer."""

    name = "threads"

    def __init__(self, threads_set: Callable[[], bool]) -> None:
        super().__init__()
        self._threads_set = threads_set

    def _count(self) -> int:
        return usable_cores()

    def value(self) -> int | None:
        is_set = self._threads_set() or any(os.environ.get(name) for name in _THREAD_VARIABLES)
        too_many = torch.get_num_threads() - self._count()
        differs = too_many > 0 or (is_set and too_many < 0)
        return self._count() if differs and not accelerator.devices() else None


class _OneThread(_Threads):
    """One, where there are several: small operators are not worth splitting."""

    name = "one_thread"

    def _count(self) -> int:
        return 1

    def value(self) -> int | None:
        return 1 if torch.get_num_threads() > 1 and not accelerator.devices() else None


class _NoGradients:
    """Forwards under `no_grad`, of a script that has never used a graph of theirs."""

    name = "gradients"
    clock = staticmethod(thread_time_ns)

    def __init__(self, calls: CallCounts, place_for: Callable[[str], tuple[Any, str]]) -> None:
        self._calls, self._place_for = calls, place_for
        self._patches = Patches()
        self._off = False

    def value(self) -> bool | None:
        return False if self._calls.throws_all_graphs_away() else None

    def begin(self) -> None:
        owner, name = self._place_for("forward")
        self._patches.replace(owner, name, self._without(getattr(owner, name)))

    def change(self) -> None:
        self._off = True

    def change_back(self) -> None:
        self._off = False

    def end(self) -> None:
        self._patches.restore()

    def _without(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*args: Any, **kwargs: Any) -> Any:
            given = tensors_near((*args[1:], *kwargs.values())) if self._off else ()
            if not self._off or any(tensor.requires_grad for tensor in given):
                return original(*args, **kwargs)
            with torch.no_grad():
                return original(*args, **kwargs)

        return forward
