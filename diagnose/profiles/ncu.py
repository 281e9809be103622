"""Tables of Nsight Compute (`ncu --csv`, pages raw and details): what limits each kernel.

A log may stand before the table and the program's own output between its lines. Metrics are told in NVIDIA's
*Nsight Compute*, *Metrics Reference*; the page details has names of its own for them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from diagnose.profiles.marshalled import Malformed

Bound = Literal["compute", "memory", "both", "latency"]
# The rule SOLBottleneck of Nsight Compute (sections/SpeedOfLight.py), per cent of what the GPU could do:
LATENCY_BELOW = 60.0  # neither above it: latency
NEAR_LIMIT = 80.0  # one above it: the kernel does nearly what the GPU can
BALANCED_WITHIN = 10.0  # both about as busy

_UNITS = {  # seconds
    "ns": 1e-9,
    "nsecond": 1e-9,
    "us": 1e-6,
    "usecond": 1e-6,
    "ms": 1e-3,
    "msecond": 1e-3,
    "s": 1.0,
    "second": 1.0,
}
_DURATION, _COMPUTE, _MEMORY, _DRAM, _OCCUPANCY = range(5)
_METRICS = {
    "gpu__time_duration.sum": _DURATION,
    "gpu__time_duration.avg": _DURATION,
    "Duration": _DURATION,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": _COMPUTE,
    "Compute (SM) Throughput": _COMPUTE,
    "Compute (SM) [%]": _COMPUTE,
    "SOL SM": _COMPUTE,
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": _MEMORY,
    "Memory Throughput": _MEMORY,
    "Memory [%]": _MEMORY,
    "SOL Memory": _MEMORY,
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": _DRAM,
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": _DRAM,
    "DRAM Throughput": _DRAM,
    "SOL DRAM": _DRAM,
    "sm__warps_active.avg.pct_of_peak_sustained_active": _OCCUPANCY,
    "Achieved Occupancy": _OCCUPANCY,
}
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+")
_NUMBER = re.compile(r"\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?", re.IGNORECASE)
_MOST_LAUNCHES = 1_000_000


class _Launch(NamedTuple):
    kernel: str
    values: dict[int, float]


@dataclass(frozen=True)
class Kernel:
    """All launches of one name. Per cent of what the GPU could do, each launch by its time; None where it was
    not measured.
    """

    name: str
    launches: int
    seconds: float | None
    compute: float | None
    memory: float | None
    dram: float | None
    occupancy: float | None

    @property
    def bound(self) -> Bound | None:
        if self.compute is None or self.memory is None:
            return None
        if max(self.compute, self.memory) < LATENCY_BELOW:
            return "latency"
        if abs(self.compute - self.memory) <= BALANCED_WITHIN:
            return "both"
        return "compute" if self.compute > self.memory else "memory"

    @property
    def is_near_limit(self) -> bool:
        return max(self.compute or 0.0, self.memory or 0.0) >= NEAR_LIMIT


@dataclass(frozen=True)
class Counters:
    """``kernels``: by their time, the most first."""

    kernels: tuple[Kernel, ...]


def read(content: bytes) -> Counters:
    """Raises Malformed."""
    lines = iter(content.decode("utf-8", "replace").splitlines())
    header = next((line for line in lines if line.startswith('"') and '"Kernel Name"' in line), None)
    if header is None:
        raise Malformed("no table with a column Kernel Name: ncu writes one with --csv")
    try:
        columns = next(csv.reader([header]))
        rows = csv.reader(line for line in lines if line.startswith('"'))
        launches = _launches(dict(zip(columns, row, strict=False)) for row in rows)
    except csv.Error as error:
        raise Malformed(str(error)) from error
    if not launches:
        raise Malformed("no kernel in its table")
    return Counters(tuple(_kernels(launches)))


def _launches(rows: Iterable[Mapping[str, str]]) -> list[_Launch]:
    """A row is a metric of a launch (page details), or a launch (page raw, whose first row holds units)."""
    found: dict[tuple[str, str], _Launch] = {}
    units: Mapping[str, str] = {}
    for row in rows:
        name, number = row.get("Kernel Name", ""), row.get("ID", "")
        if not name or not number.isdigit():
            units = units or row
            continue
        if len(found) > _MOST_LAUNCHES:
            raise Malformed(f"more than {_MOST_LAUNCHES:,} launches")
        launch = found.setdefault((row.get("Process ID", ""), number), _Launch(name, {}))
        if "Metric Name" in row:
            _note(launch, row["Metric Name"], row.get("Metric Unit", ""), row.get("Metric Value", ""))
            continue
        for column, value in row.items():
            _note(launch, column, units.get(column, ""), value)
    return list(found.values())


def _note(launch: _Launch, metric: str, unit: str, text: str) -> None:
    what = _METRICS.get(metric.strip())
    value = _number(text) if what is not None else None
    if what is None or value is None:
        return
    if what == _DURATION:
        if unit in _UNITS:
            launch.values[what] = value * _UNITS[unit]
    elif unit in ("%", ""):  # bytes a second are another metric of the same name
        launch.values[what] = min(value, 100.0)


def _number(text: str) -> float | None:
    """`1,234.5` as English has it, `9,75` as others do."""
    text = text.strip()
    if _GROUPED.fullmatch(text.partition(".")[0]):
        text = text.replace(",", "")
    text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else None


def _kernels(launches: Iterable[_Launch]) -> list[Kernel]:
    by_name: dict[str, list[_Launch]] = {}
    for launch in launches:
        by_name.setdefault(launch.kernel, []).append(launch)
    found = [_kernel(name, some) for name, some in by_name.items()]
    return sorted(found, key=lambda kernel: -(kernel.seconds or 0.0))


def _kernel(name: str, launches: list[_Launch]) -> Kernel:
    times = [launch.values[_DURATION] for launch in launches if _DURATION in launch.values]
    compute, memory, dram, occupancy = (
        _mean(launches, what) for what in (_COMPUTE, _MEMORY, _DRAM, _OCCUPANCY)
    )
    return Kernel(name, len(launches), sum(times) if times else None, compute, memory, dram, occupancy)


def _mean(launches: list[_Launch], what: int) -> float | None:
    """Over launches in which it was measured, each by its time."""
    known = [launch.values for launch in launches if what in launch.values]
    weights = [values.get(_DURATION, 0.0) for values in known]
    if not known:
        return None
    if not sum(weights):
        weights = [1.0] * len(known)
    weighed = sum(values[what] * weight for values, weight in zip(known, weights, strict=True))
    return weighed / sum(weights)
