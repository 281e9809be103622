"""What the steps of a watched run took, one short while (a window) after the other, in a bounded file.

`watch.jsonl` grows by a line at a time, each whole: what is there stays if the process is killed. Of a long
run neighbouring windows are made one, and those to come are longer.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from ..descriptors import close_ours, is_ours, open_ours
from ..writing import is_full

FILE = "watch.jsonl"
WINDOWS_AT_MOST = 4096
FIRST_LENGTH_S = 1.0
SLOW = 1.5  # times the median step
SLOW_AT_MOST = 8  # of a window, those that lost most
LINES_AT_MOST = 12  # stacks of a window

Window = dict[str, Any]  # as it stands in the file; see docs/architecture.md, *watch.jsonl*

_BY_STEPS = ("median_ms", "p90_ms", "input_ms", "gc_ms", "run_ms", "delay_ms")
_BY_TIME = ("cores", "others_cores")
_LATEST = ("threads", "rss_bytes", "heap_bytes", "allocated_bytes")


def step_times(step_ms: Sequence[float]) -> dict[str, float]:
    """Of the steps of a window: least, median, ninth decile, most, in ms."""
    ordered = sorted(step_ms)
    return {
        "least_ms": ordered[0],
        "median_ms": median(ordered),
        "p90_ms": ordered[min(len(ordered) - 1, 9 * len(ordered) // 10)],
        "most_ms": ordered[-1],
    }


def merged(earlier: Window, later: Window) -> Window:
    """The two as one. Quantiles are averages of theirs, by steps."""
    steps, length_s = earlier["steps"] + later["steps"], earlier["s"] + later["s"]
    lines: Counter[int] = Counter()
    for stack, looks in (*earlier["lines"], *later["lines"]):
        lines[stack] += looks
    slow = [*earlier["slow"], *later["slow"]]
    return {
        "first": earlier["first"],
        "steps": steps,
        "at_s": earlier["at_s"],
        "s": length_s,
        "least_ms": min(earlier["least_ms"], later["least_ms"]),
        "most_ms": max(earlier["most_ms"], later["most_ms"]),
        **{name: _average(earlier, later, name, "steps") for name in _BY_STEPS},
        **{name: _average(earlier, later, name, "s") for name in _BY_TIME},
        **{name: later[name] for name in _LATEST},
        "lost_ms": earlier["lost_ms"] + later["lost_ms"],
        "samples": _sum(earlier["samples"], later["samples"]),
        "slow_count": earlier["slow_count"] + later["slow_count"],
        "lines": [list(pair) for pair in lines.most_common(LINES_AT_MOST)],
        "slow": sorted(sorted(slow, key=lambda step: -step[2])[:SLOW_AT_MOST]),
    }


def _average(earlier: Window, later: Window, name: str, weight: str) -> float | None:
    """None where one of them does not know."""
    first, second = earlier[name], later[name]
    if first is None or second is None:
        return None
    total: float = first * earlier[weight] + second * later[weight]
    return total / (earlier[weight] + later[weight])


def _sum(first: int | None, second: int | None) -> int | None:
    return first + second if first is not None and second is not None else None


class WatchFile:
    """Appends one line after the other. A disk without room ends it; the run goes on."""

    def __init__(self, folder: str) -> None:
        """Raises OSError."""
        self._path = os.path.join(folder, FILE)
        self._descriptor = _opened(self._path)
        self._windows = 0
        self.length_s = FIRST_LENGTH_S  # of the windows to come

    def add(self, kind: str, told: Any) -> None:
        """A line ``{kind: told}``."""
        if self._descriptor < 0 or not is_ours(self._descriptor):
            return
        try:
            os.write(self._descriptor, json.dumps({kind: told}, default=str).encode() + b"\n")
            self._windows += kind == "window"
            if self._windows > WINDOWS_AT_MOST:
                self._thin()
        except OSError as error:
            self.close()
            if not is_full(error):
                raise

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            close_ours(descriptor)

    def _thin(self) -> None:
        """Two windows become one; nothing is lost if that is interrupted."""
        lines: list[dict[str, Any]] = []
        waiting = -1  # the place of a window that has no other yet
        with open(self._path, encoding="utf-8") as file:
            for text in file:
                line = json.loads(text)
                if "window" in line and waiting >= 0:
                    lines[waiting] = {"window": merged(lines[waiting]["window"], line["window"])}
                    waiting = -1
                    continue
                if "window" in line:
                    waiting = len(lines)
                lines.append(line)
        self._windows = sum("window" in line for line in lines)
        self.length_s *= 2
        unfinished = self._path + ".unfinished"
        with open(unfinished, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        os.replace(unfinished, self._path)
        self.close()
        self._descriptor = _opened(self._path)


def _opened(path: str) -> int:
    return open_ours(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def snap_folder(run_folder: str, number: int) -> str:
    """Where the recording of that number lies, from 1 on: a run folder of its own."""
    return os.path.join(run_folder, f"snap-{number}")
