"""A job of many ranks made from the traces of a real one: times shifted and stretched so that
every collective is again a meeting.

Synthetic, and to be labelled so. Rank r works as rank r modulo n of the n real ones does, each piece of work
between two collectives a little longer or shorter; a collective ends for all ranks when the last has come and
the fastest real rank's time has gone by; so a rank that is planted to load slowly holds all others up, as it
would. Hosts of eight ranks have clocks of their own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 5
RANKS_PER_HOST = 8
WORK_SPREAD = 0.02  # of a piece of work, up and down
CLOCKS_APART_US = 2000
STEP, INPUT, COLLECTIVE = "ProfilerStep#", "enumerate(DataLoader)", "nccl"
_ID_STEP = 1_000_000  # between the ids of one step's events and the next one's
_IDS = ("External id", "correlation", "Ev Idx", "Sequence number")


@dataclass(frozen=True)
class Template:
    """A real rank: its document and, in us from the begin of its step, where it loads
    and each collective's begin and end.
    """

    document: dict[str, Any]
    begin_us: int
    step_us: int
    input_us: tuple[int, int]
    meetings_us: np.ndarray  # (collectives, 2)

    @property
    def work_us(self) -> np.ndarray:
        """Between two collectives, from the begin of the step on."""
        return self.meetings_us[:, 0] - np.concatenate([[0], self.meetings_us[:-1, 1]])


def template(path: Path) -> Template:
    packed = path.read_bytes()
    document = json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)
    spans = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    step = next(event for event in spans if event["name"].startswith(STEP))
    load = next(event for event in spans if event["name"].startswith(INPUT))
    begin = step["ts"]
    kernels = [
        event
        for event in spans
        if event.get("cat") == "kernel"
        and event["name"].startswith(COLLECTIVE)
        and begin <= event["ts"] < begin + step["dur"]
    ]
    meetings = np.array(
        sorted((event["ts"] - begin, event["ts"] + event["dur"] - begin) for event in kernels)
    )
    return Template(
        document, begin, step["dur"], (load["ts"] - begin, load["ts"] + load["dur"] - begin), meetings
    )


@dataclass(frozen=True)
class Simulated:
    """Times in us: ``begins`` (steps + 1, ranks) of steps; ``meetings`` (steps,
    collectives, ranks, 2): begin and end of each.
    """

    begins: np.ndarray
    meetings: np.ndarray

    @property
    def step_ms(self) -> float:
        """Of the job, from the second step on."""
        return float(np.diff(self.meetings[:, -1, 0, 1]).mean()) / 1000


def simulated(
    templates: Sequence[Template], ranks: int, late: int, late_us: float, seed: int = 0
) -> Simulated:
    """The job's times, with a rank that takes `late_us` longer to load each batch."""
    chance = np.random.default_rng(seed)
    own = [templates[rank % len(templates)] for rank in range(ranks)]
    work = np.stack([one.work_us for one in own], axis=1) * chance.uniform(
        1 - WORK_SPREAD, 1 + WORK_SPREAD, (STEPS, len(own[0].work_us), ranks)
    )
    work[:, 0, late] += late_us
    tail = np.array([one.step_us - one.meetings_us[-1, 1] for one in own])
    fastest = np.min([one.meetings_us[:, 1] - one.meetings_us[:, 0] for one in templates], axis=0)
    begins, meetings = np.zeros((STEPS + 1, ranks)), np.zeros((*work.shape, 2))
    for step in range(STEPS):
        now = begins[step]
        for number in range(len(fastest)):
            come = now + work[step, number]
            now = np.full(ranks, come.max() + fastest[number])
            meetings[step, number] = np.stack([come, now], axis=1)
        begins[step + 1] = now + tail
    return Simulated(begins, meetings)


def write_set(paths: Sequence[Path], folder: Path, ranks: int, late: int, late_us: float) -> Simulated:
    """Write `ranks` traces into the folder; the times they have."""
    templates = [template(path) for path in paths]
    times = simulated(templates, ranks, late, late_us)
    folder.mkdir(parents=True)
    clocks_us = np.random.default_rng(0).integers(0, CLOCKS_APART_US, 1 + ranks // RANKS_PER_HOST)
    zeros = [templates[0].begin_us + int(clocks_us[rank // RANKS_PER_HOST]) for rank in range(ranks)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(
                _write_rank,
                paths[rank % len(paths)],
                folder,
                rank,
                ranks,
                _knots(times, rank),
                late_us * (rank == late),
                zero,
            )
            for rank, zero in enumerate(zeros)
        ]
        for job in jobs:
            job.result()
    return times


def _knots(times: Simulated, rank: int) -> list[np.ndarray]:
    """Of each step: its begin, each collective's begin and end, its end."""
    meetings = times.meetings[:, :, rank].reshape(len(times.meetings), -1)
    return [
        np.concatenate([[times.begins[step, rank]], meetings[step], [times.begins[step + 1, rank]]])
        for step in range(len(meetings))
    ]


def _write_rank(
    path: Path, folder: Path, rank: int, ranks: int, knots: Sequence[np.ndarray], late_us: float, zero_us: int
) -> None:
    real = template(path)
    was = np.concatenate([[0], real.meetings_us.reshape(-1), [real.step_us]]).astype(float)
    events = [event for event in real.document["traceEvents"] if event.get("ph") == "M"]
    for step, now in enumerate(knots):
        old, new = _with_input(was, now, real.input_us, late_us)
        events += _moved(real, step, old, new, zero_us)
    info = real.document["distributedInfo"] | {"rank": rank, "world_size": ranks}
    document = real.document | {
        "distributedInfo": info,
        "synthetic": f"made from {path.name}",
        "traceEvents": events,
    }
    (folder / f"rank{rank:05}.json.gz").write_bytes(
        gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 6)
    )


def _with_input(
    was: np.ndarray, now: np.ndarray, load: tuple[int, int], late_us: float
) -> tuple[np.ndarray, np.ndarray]:
    """The knots with two more in the first piece of work: what comes late there is
    loading, all else of it keeps its share.
    """
    scale = (now[1] - now[0] - late_us) / (was[1] - was[0])
    inner = now[0] + np.array(load) * scale + [0, late_us]
    return np.insert(was, 1, load), np.insert(now, 1, inner)


def _moved(
    real: Template, step: int, old: np.ndarray, new: np.ndarray, zero_us: int
) -> Iterator[dict[str, Any]]:
    """One step's events at their new times."""
    events = [
        event
        for event in real.document["traceEvents"]
        if event.get("ph") != "M" and event.get("cat") != "Trace"
    ]
    begins = np.array([event["ts"] - real.begin_us for event in events])
    ends = begins + [event.get("dur", 0) for event in events]
    inside = (begins >= 0) & (ends <= real.step_us)
    begins, ends = (np.rint(np.interp(times, old, new)).astype(np.int64) for times in (begins, ends))
    for number in np.flatnonzero(inside):
        event, moved = events[number], {"ts": int(begins[number]) + zero_us}
        if "dur" in event:
            moved["dur"] = int(ends[number] - begins[number])
        if "id" in event:
            moved["id"] = event["id"] + step * _ID_STEP
        args = event.get("args", {})
        moved["args"] = args | {name: args[name] + step * _ID_STEP for name in _IDS if name in args}
        name = f"{STEP}{step + 1}" if event["name"].startswith(STEP) else event["name"]
        yield event | moved | {"name": name}
