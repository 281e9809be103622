"""One watched training, healthy at first, then with a fault.

    python -m benchmarks.watching.case KIND SEED FOLDER [HEALTHY_S]

Prints as JSON from which step on there was a fault, and how long a step took before and with it, by a clock
around the loop.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from diagnose.run.child.places import Places
from diagnose.run.child.watching import watch as watching
from diagnose.run.child.watching.watch import Watch

WINDOW_S = 0.1
HEALTHY_S, FAULTY_S = 8.0, 7.0
SELDOM = ("validation", "hiccups", "leak")  # seen in the average step, which takes longer to know
HERE = str(Path(__file__).parent)


class Items(Dataset[torch.Tensor]):
    """Whose items take longer from a moment on."""

    def __init__(self) -> None:
        self.item_s, self.extra_s = 0.0001, 0.0

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        busy(self.item_s + self.extra_s)
        return torch.full((64,), 0.5)


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Training:
    """``severity``: how much longer a step is to take, about."""

    def __init__(self, kind: str, seed: int) -> None:
        draw = random.Random(seed)
        self.kind, self.severity = kind, draw.uniform(0.25, 1.0)
        torch.manual_seed(seed)
        torch.set_num_threads(2 if kind == "threads-fall" else 1)
        size = 2048 if kind == "threads-fall" else draw.choice((64, 128, 256))
        self.model = torch.nn.Sequential(
            torch.nn.Linear(64, size), torch.nn.ReLU(), torch.nn.Linear(size, size), torch.nn.Linear(size, 64)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.items = Items()
        if kind == "threads-fall":
            self.items.item_s = 0.0
        self.batches = iter(DataLoader(self.items, batch_size=64 if kind == "threads-fall" else 8))
        self.kept: list[Any] = []
        self.history: list[dict[str, Any]] = []
        self.draw, self.step_s = draw, 0.001
        self.faulty = False
        self.validation_s = 0.01
        self.programs: list[Any] = []

    def step(self, number: int) -> None:
        batch = next(self.batches)
        loss = (self.model(batch) - batch).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        extra: dict[str, Callable[[int], None]] = {
            "log-grows": self.log,
            "leak": self.leak,
            "hiccups": self.hiccup,
            "memory": self.keep,
        }
        if self.faulty and self.kind in extra:
            extra[self.kind](number)
        if self.kind == "validation" and number % 50 == 49:
            self.validate()

    def begin_fault(self) -> None:
        self.faulty = True
        if self.kind == "files-grow":
            self.items.extra_s = self.severity * self.step_s / 8
        elif self.kind == "threads-fall":
            torch.set_num_threads(1)
        elif self.kind == "validation":
            self.validation_s += 50 * self.severity * self.step_s
        elif self.kind == "others":
            self.programs = [multiprocessing.Process(target=busy, args=(60,)) for _ in range(4)]
            for program in self.programs:
                program.start()

    def validate(self) -> None:
        busy(self.validation_s)

    def hiccup(self, number: int) -> None:
        if self.draw.random() < 1 / 40:
            busy(40 * self.severity * self.step_s)

    def log(self, number: int) -> None:
        self.history += [{"step": number, "loss": 0.5}] * 20
        json.dumps(self.history[-4000:])

    def leak(self, number: int) -> None:
        for _ in range(60):
            node: dict[str, Any] = {"number": number}
            node["self"] = [node]
            self.kept.append(node)

    def keep(self, number: int) -> None:
        self.kept.append(torch.zeros(10_000))

    def end(self) -> None:
        for program in self.programs:
            program.terminate()
            program.join()


def train(training: Training, watch: Watch | None, seconds: float, first: int) -> int:
    """The number of the step after the last."""
    end, number = time.perf_counter() + seconds, first
    while time.perf_counter() < end:
        training.step(number)
        number += 1
        if watch is not None:
            watch.tick(time.perf_counter_ns())
    return number


def new_watch(folder: Path) -> Watch:
    return Watch(str(folder / "rank0"), Places(HERE, HERE), 1, 0, lambda words: None, lambda change: None)


def planted(kind: str, seed: int, folder: Path, healthy_s: float) -> dict[str, float]:
    """From which step on there was a fault; ms of a step before and with it."""
    training = Training(kind, seed)
    begin = time.perf_counter()
    count = train(training, None, 1.0, 0)
    training.step_s = (time.perf_counter() - begin) / count
    watching._AVERAGED_S = 20 * WINDOW_S
    (folder / "rank0").mkdir()
    watch = new_watch(folder)
    watch._file.length_s = WINDOW_S
    watch.begin()
    longer = 2 if kind in SELDOM else 1
    begun = time.perf_counter()
    step = train(training, watch, longer * healthy_s, 0)
    faulty = time.perf_counter()
    told = {"fault_step": step, "before_ms": 1000 * (faulty - begun) / step}
    if kind != "healthy":
        training.begin_fault()
        last = train(training, watch, longer * FAULTY_S, step)
        told["after_ms"] = 1000 * (time.perf_counter() - faulty) / (last - step)
    watch.end()
    training.end()
    return told


def cost(folder: Path) -> dict[str, float]:
    """Processor time of the thread, a step of about 5 ms: watched and not, in turns of two seconds."""
    training = Training("healthy", 0)
    training.items.extra_s = 0.0004
    (folder / "rank0").mkdir()
    spent: dict[bool, list[float]] = {True: [], False: []}
    train(training, None, 2.0, 0)
    for watched in (False, True, True, False):
        watch = None
        if watched:
            watch = Watch(
                str(folder / "rank0"), Places(HERE, HERE), 1, 0, lambda words: None, lambda change: None
            )
            watch.begin()
        begin_s = time.thread_time()
        count = train(training, watch, 4.0, 0)
        spent[watched].append(1000 * (time.thread_time() - begin_s) / count)
        if watch is not None:
            watch.end()
    return {"watched_ms": sum(spent[True]) / 2, "plain_ms": sum(spent[False]) / 2}


def main() -> None:
    kind, seed, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if kind == "cost":
        print(json.dumps(cost(folder)))
        return
    healthy_s = float(sys.argv[4]) if len(sys.argv) > 4 else HEALTHY_S
    print(json.dumps(planted(kind, seed, folder, healthy_s)))


if __name__ == "__main__":
    main()
