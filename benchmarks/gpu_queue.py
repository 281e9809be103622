"""Steps of a simulated GPU with a launch queue, and what the analysis says of them.

Nothing here ran on a GPU.

    python -m benchmarks gpu-queue [--quick]

A host launches kernels one after the other; the GPU takes them from a queue of 1,024, and a launch into a
full queue waits. Some scripts wait for the GPU at each step's end. What a run would have recorded of that
(host and GPU ticks of plain steps, a trace of profiled ones) goes through the real reader and the real
analysis. A cell is wrong if the step is more than 3 % off the simulated one, if launches are called the limit
where the GPU is, if nothing is said where the host is, or if there is a doubt.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.options import parser
from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording
from diagnose.pipeline import Analysis
from diagnose.report.blocks import table
from diagnose.trace.reader import read_trace

QUEUE_DEPTH = 1024
LATENCY_US = 5.0  # from a launch call to its kernel, if the GPU is free
RETURN_US = 8.0  # from the GPU's last event to the return of a call that waits for it
PLAIN_STEPS, TIMELINE_STEPS, STEADY_STEPS = 20, 8, 60
KERNELS, KERNEL_US, HOST_US = (10, 30, 100, 300, 1000, 2000), (1, 5, 10, 20, 45, 100, 200), (2, 5, 10, 20)
QUICK = (10, 100, 1200), (1, 10, 45), (2, 10)
MOST_ERROR = 0.03
# the GPU's true idle time for the host, below and above which a report has to say so
GPU_IS_LIMIT, HOST_IS_LIMIT = (0.05, 0.3)
NOISE = 0.1  # of the grid's times
START_US = 100.0


@dataclass(frozen=True)
class Job:
    """A step of a script; ``host_us``: what the host needs for each launch without a profiler."""

    kernels: int
    kernel_us: float
    host_us: float
    waits: bool = False  # for the GPU, at each step's end
    turn_us: float = 1.2  # of the GPU, from one kernel to the next
    noise: float = 0.0  # standard deviation of each time, as a share of it
    profiler_us: float = 3.0  # more for each launch under the profiler, and 30 %
    last_us: float = 0.0  # so much longer is the last kernel of each step

    @property
    def gpu_us(self) -> float:
        """A step of a GPU that waits for nothing."""
        return self.kernels * (self.kernel_us + self.turn_us) + self.last_us

    @property
    def profiled_us(self) -> float:
        """What the host needs for each launch under the profiler."""
        return 1.3 * self.host_us + self.profiler_us

    def __str__(self) -> str:
        return (
            f"synthetic: {self.kernels} kernels of {self.kernel_us:g} µs, {self.host_us:g} µs a "
            f"launch{', waits' * self.waits}"
        )


@dataclass(frozen=True)
class Simulated:
    """Steps from a drained GPU on, µs.

    ``launches_us``: a row a launch: when its operator begins, when its call begins and returns, its kernel's
    begin and end. ``ticks_us``, ``done_us``: the steps' borders on the host, and when the GPU has reached
    them. ``waits_us``: begin and end of calls that wait.
    """

    launches_us: np.ndarray
    ticks_us: np.ndarray
    done_us: np.ndarray
    waits_us: np.ndarray


def simulated(job: Job, launch_us: float, steps: int) -> Simulated:
    now, free_at, random = START_US, 0.0, np.random.default_rng(steps)
    noise = np.maximum(1 + job.noise * random.standard_normal((2, steps, job.kernels)), 0.2).tolist()
    usual_us, kernels_us = launch_us, [job.kernel_us] * (job.kernels - 1) + [job.kernel_us + job.last_us]
    launches: list[tuple[float, float, float, float, float]] = []
    ticks, done, waits = [now], [now], []
    for of_launches, of_kernels in zip(*noise, strict=True):
        for of_launch, of_kernel, kernel_us in zip(of_launches, of_kernels, kernels_us, strict=True):
            launch_us = usual_us * of_launch
            begin, call = now, now + 0.6 * launch_us
            may_return = launches[-QUEUE_DEPTH][4] if len(launches) >= QUEUE_DEPTH else 0.0
            returns = max(call + 0.3 * launch_us, may_return)
            start = max(returns - 0.3 * launch_us + LATENCY_US, free_at + job.turn_us if launches else 0.0)
            free_at = start + kernel_us * of_kernel
            launches.append((begin, call, returns, start, free_at))
            now = returns + 0.1 * launch_us
        if job.waits:
            waits.append((now, max(now, free_at) + RETURN_US))
            now = waits[-1][1]
        ticks.append(now)
        done.append(max(now + LATENCY_US, free_at) - LATENCY_US)
    return Simulated(*(np.array(columns) for columns in (launches, ticks, done, waits)))


def true_step_us(job: Job) -> float:
    """Of the later half of many steps."""
    done_us = simulated(job, job.host_us, STEADY_STEPS).done_us
    half = STEADY_STEPS // 2
    return float(done_us[-1] - done_us[half]) / (STEADY_STEPS - half)


# ---- what a run would have recorded


def recording(job: Job) -> Recording:
    plain, profiled = (
        simulated(job, job.host_us, PLAIN_STEPS),
        simulated(job, job.profiled_us, TIMELINE_STEPS),
    )
    phases = [
        {
            "name": "plain",
            "first_tick": 6,
            "tick_ns": _ns(plain.ticks_us),
            "device_tick_ns": {"cuda:0": _ns(plain.done_us - plain.done_us[0])},
        },
        {"name": "timeline", "first_tick": 6 + PLAIN_STEPS, "tick_ns": _ns(profiled.ticks_us)},
    ]
    document = {"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": list(_events(job, profiled))}
    return Recording(
        Path("synthetic.json"),
        timeline=read_trace(io.BytesIO(json.dumps(document).encode())),
        run={"target": str(job), "ended": "finished"},
        clock={"clock": "optimizer", "ticks_per_step": 1, "phases": phases},
        facts={"device": "cuda", "gpu_name": "synthetic"},
    )


def _ns(us: np.ndarray) -> list[int]:
    return [round(1e3 * value) for value in us.tolist()]


def _events(job: Job, steps: Simulated) -> Iterator[dict[str, Any]]:
    for number, tick_us in enumerate(steps.ticks_us.tolist()):
        yield _event("user_annotation", f"diagnose::tick|{number}", tick_us - 1, tick_us)
    for correlation, (begin, call, returns, start, end) in enumerate(steps.launches_us.tolist(), 1):
        yield _event("cpu_op", "aten::mul", begin, returns + 0.02 * job.profiled_us)
        yield _event("cuda_runtime", "cudaLaunchKernel", call, returns, correlation=correlation)
        if returns - call > job.profiled_us:
            yield _event("overhead", "Command Buffer Full", call, returns)
        yield _event("kernel", "mul", start, end, pid=0, tid=7, device=0, stream=7, correlation=correlation)
    for number, (begin, end) in enumerate(steps.waits_us.tolist()):
        yield _event("cuda_runtime", "cudaStreamSynchronize", begin, end, correlation=10**6 + number)
    last_us, drained_us = float(steps.ticks_us[-1]), float(steps.launches_us[-1, 4])
    returns_us = max(last_us, drained_us) + 5 + RETURN_US
    yield _event("cuda_runtime", "cudaDeviceSynchronize", last_us + 5, returns_us, correlation=2 * 10**6)


def _event(
    category: str, name: str, begin: float, end: float, *, pid: int = 100, tid: int = 100, **args: int
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": begin,
        "dur": end - begin,
        "args": args,
    }


# ---- what the analysis says


@dataclass(frozen=True)
class Said:
    """``idle``: the share of the true step in which the GPU waits for the host;
    ``launch_bound``: what the report says of it.
    """

    true_ms: float
    step_ms: float
    idle: float
    launch_bound: float
    plan: tuple[str, ...]
    headline: str
    doubt: str
    wrong: str

    @property
    def error(self) -> float:
        return self.step_ms / self.true_ms - 1


def said_of(job: Job) -> Said:
    measured = Measured(recording(job))
    document = Analysis(measured).document
    true_us = true_step_us(job)
    idle = max(0.0, 1 - (job.gpu_us + job.waits * (LATENCY_US + RETURN_US)) / true_us)
    said = Said(
        true_us / 1e3,
        document.steps.typical_ms or float("nan"),
        idle,
        sum(row.share for row in document.ledger if row.row == "launch_bound"),
        tuple(row.rule for row in document.plan),
        document.headline,
        document.doubt,
        "",
    )
    sums_up = abs(sum(row.ms_per_step for row in document.ledger) / said.step_ms - 1) < 1e-6
    return replace(said, wrong="; ".join(_wrong(job, said, sums_up=sums_up)))


def _wrong(job: Job, said: Said, *, sums_up: bool) -> Iterator[str]:
    launch_bound = "launch-bound-short-kernels" in said.plan
    if abs(said.error) > MOST_ERROR:
        yield f"the step is {100 * said.error:+.1f} % off"
    if not sums_up:
        yield "the ledger does not add up"
    if said.doubt:
        yield "a doubt"
    if said.idle < GPU_IS_LIMIT and (launch_bound or "launch-bound" in said.headline.lower()):
        yield "launch-bound, where the GPU is the limit"
    # the rule leaves few and long kernels alone
    if said.idle > HOST_IS_LIMIT and job.kernels >= 20 and job.kernel_us < 30 and not launch_bound:
        yield "not launch-bound, where the host is the limit"


def grid(
    kernels: tuple[int, ...] = KERNELS,
    kernel_us: tuple[float, ...] = KERNEL_US,
    host_us: tuple[float, ...] = HOST_US,
) -> Iterator[Job]:
    for waits, count, long_us, launch_us in itertools.product((False, True), kernels, kernel_us, host_us):
        yield Job(count, long_us, launch_us, waits, noise=NOISE)


def main(arguments: Sequence[str]) -> None:
    options = parser("gpu-queue", __doc__)
    options.add_argument("--quick", action="store_true", help="a small grid")
    jobs = list(grid(*QUICK) if options.parse_args(arguments).quick else grid())
    said = [said_of(job) for job in jobs]
    header = (
        "kernels",
        "µs a kernel",
        "µs a launch",
        "waits",
        "step",
        "said",
        "idle",
        "launch-bound",
        "plan",
        "wrong",
    )
    rows = [
        (
            str(job.kernels),
            f"{job.kernel_us:g}",
            f"{job.host_us:g}",
            "yes" if job.waits else "",
            f"{one.true_ms:.3f} ms",
            f"{100 * one.error:+.1f} %",
            f"{100 * one.idle:.0f} %",
            f"{100 * one.launch_bound:.0f} %",
            ", ".join(one.plan),
            one.wrong,
        )
        for job, one in zip(jobs, said, strict=True)
    ]
    print(table(header, rows))
    worst = max(abs(one.error) for one in said)
    print(
        f"\nSynthetic: {len(said)} cells, {sum(bool(one.wrong) for one in said)} wrong, the largest error of "
        f"a step {100 * worst:.1f} %."
    )
