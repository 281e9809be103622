"""What a table of Nsight Compute tells: kernels by their time, what limits each, and what that means."""

from __future__ import annotations

import re

import msgspec

from diagnose.profiles.ncu import Bound, Counters, Kernel

MEANINGS: dict[Bound, str] = {
    "compute": "Arithmetic limits it: fewer or cheaper operations help (lower precision, tensor cores), less "
    "memory traffic does not.",
    "memory": "Memory traffic limits it: fusing it with its neighbours or smaller types help, cheaper "
    "arithmetic does not.",
    "both": "Arithmetic and memory are about as busy: it needs less of both.",
    "latency": "Neither arithmetic nor memory is above 60 %: the GPU waits. More work per launch helps: "
    "larger batches, fewer and larger kernels.",
}
BOUNDS: dict[Bound, str] = {
    "compute": "compute",
    "memory": "memory",
    "both": "compute and memory",
    "latency": "latency",
}
NEAR = "It is above 80 % of what the GPU can do: only less work makes it faster."
UNKNOWN = "Not measured: `ncu --set basic` has compute and memory throughput."
_MOST = 200
_TEMPLATE = re.compile(r"<[^<>]*>")
_LAUNCHED_AS = re.compile(r"^(void|static|inline|__global__|\s)+\s")


class CountedKernel(msgspec.Struct):
    """``share``: of the time of all kernels in the table. Throughputs and occupancy are 0–1."""

    name: str
    launches: int
    ms: float | None
    share: float | None
    compute: float | None
    memory: float | None
    dram: float | None
    occupancy: float | None
    bound: str | None
    meaning: str


class CountersSummary(msgspec.Struct):
    """Of a table of Nsight Compute."""

    file: str
    kernels: list[CountedKernel]
    left_out: int
    schema: int = 1


def counters_summary(counters: Counters, file: str) -> CountersSummary:
    whole = sum(kernel.seconds or 0.0 for kernel in counters.kernels)
    shown = [_counted(kernel, whole) for kernel in counters.kernels[:_MOST]]
    return CountersSummary(file, shown, len(counters.kernels) - len(shown))


def _counted(kernel: Kernel, whole: float) -> CountedKernel:
    seconds = kernel.seconds
    compute, memory, dram, occupancy = (
        None if one is None else one / 100
        for one in (kernel.compute, kernel.memory, kernel.dram, kernel.occupancy)
    )
    return CountedKernel(
        name=kernel.name,
        launches=kernel.launches,
        ms=None if seconds is None else 1e3 * seconds,
        share=seconds / whole if seconds is not None and whole > 0 else None,
        compute=compute,
        memory=memory,
        dram=dram,
        occupancy=occupancy,
        bound=kernel.bound,
        meaning=_meaning(kernel),
    )


def _meaning(kernel: Kernel) -> str:
    if kernel.bound is None:
        return UNKNOWN
    return MEANINGS[kernel.bound] + (f" {NEAR}" if kernel.is_near_limit else "")


def counted_as(name: str, kernels: list[CountedKernel]) -> CountedKernel | None:
    """The kernel that a trace calls so: by its whole name, else by what stands before template arguments and
    parameters, if that is one kernel's alone. Nsight Compute writes names with or without either.
    """
    whole = [kernel for kernel in kernels if kernel.name == name]
    alike = whole or [kernel for kernel in kernels if _plain(kernel.name, 1) == _plain(name, 1)]
    alike = alike or [kernel for kernel in kernels if _plain(kernel.name) == _plain(name)]
    return alike[0] if len(alike) == 1 else None


def _plain(name: str, keeps_template: int = 0) -> str:
    """`at::native::f` of `void at::native::f<float>(float*)`; with its template where that is kept. Names
    without namespaces are those of `ncu --kernel-name-base function`.
    """
    name = _LAUNCHED_AS.sub("", name[:10_000]).replace("(anonymous namespace)", "@")
    shorter = name
    if not keeps_template:
        while (again := _TEMPLATE.sub("", shorter)) != shorter:
            shorter = again
    shorter = shorter.partition("(")[0].strip()
    return shorter if keeps_template else shorter.rpartition("::")[2]
