"""The shortest of several timings: what else the machine does only makes them longer."""

from __future__ import annotations

import time
from collections.abc import Callable


def shortest_ms(work: Callable[[], object], timings: int, rounds: int = 1) -> float:
    """ms that `work` takes, called `rounds` times each timing; one timing more warms up."""
    took = []
    for _ in range(timings + 1):
        began = time.perf_counter()
        for _ in range(rounds):
            work()
        took.append(time.perf_counter() - began)
    return min(took[1:]) / rounds * 1e3
