"""What TensorFlow and JAX record, as torch.profiler would write it: the same for their two formats
(`diagnose.trace.xplane`, and Chrome traces made of it).

Names of planes, lines and values: xla/tsl/profiler/utils/xplane_schema.cc of https://github.com/openxla/xla;
of copies: xla/backends/profiler/gpu/cupti_utils.cc and cupti_collector.cc.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from diagnose.trace.decode import Args, Event
from diagnose.trace.quirks import ITERATOR_NEXT, XLA_COMPILATION

TENSORFLOW, JAX = "tensorflow", "jax"
TOLD = {
    TENSORFLOW: "Recorded with TensorFlow's profiler: source lines and shapes are not known.",
    JAX: "Recorded with JAX's profiler: source lines and shapes are not known.",
}
RECORD = (
    "Record again: tf.profiler.experimental.start(LOGDIR) and stop(), the TensorBoard callback's "
    "profile_batch, or jax.profiler.trace(LOGDIR)."
)
DEVICE = re.compile(r"/device:(?:GPU|TPU):(\d{1,9})")
HOSTS = ("/host:CPU", "/host:CUPTI", "/host:ROCTRACER")
_STREAM = re.compile(r"Stream #(\d{1,9})")
_OPERATORS_OF_TPU = "XLA Ops"  # a GPU's are made of its streams' kernels
_AROUND = re.compile(r"%?(while|conditional|call)(\.\d+)?\b")  # operators of a TPU that hold others
_COPY = re.compile(r"(?:Async)?Memcpy(?:([HDP])2([HDP]))?")
_ENDS = re.compile(r"kind_src:(\w+) kind_dst:(\w+)")
_BYTES = re.compile(r"\bsize:(\d{1,18})")
_CALL = re.compile(r"(cuda|hip)[A-Z]\w*$|cu[A-Z]\w+$")

_STEP = "step_num"  # of tf.profiler.experimental.Trace and jax.profiler.StepTraceAnnotation
_FETCHES = re.compile(r"IteratorGetNext\w*Op::DoCompute$|IteratorGetNext(AsOptional|Sync)?$")
_COMPILES = re.compile(XLA_COMPILATION)
_NO_WORK = re.compile(r"\$|ThreadpoolListener::")  # frames of Python, whose folders are not recorded; marks
_BLOCKS = re.compile(r"\$\S+ block_until_ready$")  # of all frames the one that says what is waited for
_RUNS_STEPS = re.compile(r"PjitFunction\(|EagerExecute$|TFE_Py_Execute|SessionRun$")
_OF_JAX = re.compile(r"PjitFunction\(|\$pjit\.py|jit_")
_TF_OPERATOR = re.compile(r"[\w./<>-]+:(\w+)$")  # name:type
_OF_USER = re.compile(r"[a-z][^:(]*$")  # the frameworks' own are Upper::Case, or called with (…)
_NUMBER = re.compile(r"[._]\d+$|\.kd$")


class Place(NamedTuple):
    """``process``: name and number of the plane; ``thread`` of the line."""

    process: str
    pid: Any
    thread: str
    tid: Any


class Timed(NamedTuple):
    """An event as recorded, µs; ``told``: its values by their names."""

    name: str
    start: float | str | None
    length: float | str | None
    told: Mapping[str, Any]


class Translation:
    """Of one recording's events, to be given one after the other."""

    def __init__(self) -> None:
        self._steps: Counter[tuple[Any, Any]] = Counter()  # by thread
        self._runs: Counter[tuple[Any, Any]] = Counter()
        self._held_up: list[Event] = []  # by what other threads do
        self._of_devices: list[Event] = []  # their steps
        self._of_xla: set[str] = set()  # operators that devices ran
        self._is_jax = False

    @property
    def framework(self) -> str:
        return JAX if self._is_jax else TENSORFLOW

    def tells(self, names: set[str]) -> None:
        """``names``: of values that the recording has."""
        self._is_jax |= "jax_version" in names

    def event(self, place: Place, timed: Timed) -> Iterator[Event]:
        """As torch.profiler would write it; nothing for what tells nothing more."""
        if device := DEVICE.match(place.process):
            return self._on_device(int(device[1]), place, timed)
        return self._on_host(place, timed) if place.process in HOSTS else iter(())

    def last(self) -> Iterator[Event]:
        """What can be told only when all is known: steps that only devices marked, and on the thread of the
        steps what it waits for on others.
        """
        threads = self._steps or self._runs
        if not self._steps:
            yield from self._of_devices
        for event in self._held_up:
            if threads:
                event.pid, event.tid = threads.most_common(1)[0][0]
            yield event

    # ---- devices

    def _on_device(self, ordinal: int, place: Place, timed: Timed) -> Iterator[Event]:
        told = timed.told
        self._is_jax |= str(told.get("hlo_module", "")).startswith("jit_")
        self._of_xla.add(str(told.get("hlo_op", "")))
        stream = _STREAM.match(place.thread)
        if place.thread == "Steps" and timed.name.isdecimal():
            self._of_devices.append(
                _on_host("user_annotation", f"ProfilerStep#{timed.name[-18:]}", place, timed)
            )
        if not stream and (place.thread != _OPERATORS_OF_TPU or "GPU" in place.process):
            return
        if not stream and _AROUND.match(timed.name):
            return
        category, name = _work(timed)
        args = Args(
            correlation=told.get("correlation_id", -1),
            device=ordinal,
            stream=int(stream[1]) if stream else 0,
            bytes=_copied(told),
        )
        yield Event("X", category, name, place.pid, place.tid, timed.start, timed.length, args)

    # ---- the host

    def _on_host(self, place: Place, timed: Timed) -> Iterator[Event]:
        name, told = timed.name, timed.told
        self._is_jax |= _OF_JAX.match(name) is not None
        if _BLOCKS.match(name):
            yield _on_host("user_annotation", "block_until_ready", place, timed)
        if not name or _NO_WORK.match(name):
            return
        thread = place.pid, place.tid
        if _STEP in told:
            self._steps[thread] += 1
            yield _on_host("user_annotation", f"ProfilerStep#{told[_STEP]}", place, timed)
            return
        self._runs[thread] += _RUNS_STEPS.match(name) is not None
        if _FETCHES.match(name):
            self._held_up.append(_on_host("cpu_op", ITERATOR_NEXT, place, timed))
        elif _COMPILES.match(name):
            self._held_up.append(_on_host("cpu_op", name, place, timed))
        elif _CALL.match(name):
            yield from _call(place, timed)
        elif operator := _TF_OPERATOR.match(name):
            yield _on_host("cpu_op", operator[1], place, timed)
        elif "hlo_op" in told or name in self._of_xla:
            yield _on_host("cpu_op", _without_number(str(told.get("hlo_op", name))), place, timed)
        elif _OF_USER.match(name) and all(key.startswith("_") for key in told):
            yield _on_host("user_annotation", name, place, timed)
        else:
            yield _on_host("cpu_op", name, place, timed)


def _call(place: Place, timed: Timed) -> Iterator[Event]:
    """A call of CUDA's or HIP's, inside the operator that it is for, if that is told."""
    if operator := _operator(timed.told):
        yield _on_host("cpu_op", operator, place, timed)
    category = "cuda_driver" if timed.name.startswith("cu") and timed.name[2].isupper() else "cuda_runtime"
    args = Args(correlation=timed.told.get("correlation_id", -1))
    yield _on_host(category, timed.name, place, timed, args)


def _operator(told: Mapping[str, Any]) -> str:
    """The operator behind a call or a kernel: of TensorFlow its type, of JAX the primitive; else XLA's."""
    of_tensorflow = _TF_OPERATOR.match(str(told.get("tf_op", "")))
    if of_tensorflow:
        return str(of_tensorflow[1])
    _, inside, of_jax = str(told.get("name", "")).rpartition("/")
    return of_jax if inside else _without_number(str(told.get("hlo_op", "")))


def _work(timed: Timed) -> tuple[str, str]:
    """Of a device: category and name as torch.profiler has them."""
    copy = _COPY.match(timed.name)
    if copy:
        source, target = _ends(timed.told)
        direction = f"{copy[1]}to{copy[2]}" if copy[1] else "Unknown"
        return "gpu_memcpy", f"Memcpy {direction} ({source} -> {target})"
    if timed.name.lower().startswith("memset"):
        return "gpu_memset", "Memset (Device)"
    return "kernel", timed.name.removesuffix(".kd")


def _ends(told: Mapping[str, Any]) -> tuple[str, str]:
    found = _ENDS.search(str(told.get("memcpy_details", "")))
    return (found[1].capitalize(), found[2].capitalize()) if found else ("Unknown", "Unknown")


def _copied(told: Mapping[str, Any]) -> int:
    """Bytes; -1 if not told."""
    found = _BYTES.search(str(told.get("memcpy_details", told.get("memset_details", ""))))
    return int(found[1]) if found else -1


def _without_number(name: str) -> str:
    return _NUMBER.sub("", name)


def _on_host(category: str, name: str, place: Place, timed: Timed, args: Args | None = None) -> Event:
    return Event("X", category, name, place.pid, place.tid, timed.start, timed.length, args)
