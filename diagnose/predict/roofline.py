"""What a kernel would take in another number format: the roofline model.

A kernel takes at least as long as its arithmetic at the GPU's peak, and at least as long as its traffic at
the memory's bandwidth (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009). Which of the two is longer
binds it. The peaks are in peaks.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from diagnose.judge.rules import FORMATS
from diagnose.measure.links import bare_name
from diagnose.predict.flops import Work

# Large matrix products reach this share of a 16-bit or TF32 peak or more: 61 % (A6000) to 76 % (V100),
# https://github.com/mli/transformers-benchmarks. Plain 32-bit ones reach 90 %, and that does not carry over.
REACHED = 0.6
# what the shortest kernels take whatever they do: 0.6 to 1.5 µs in recorded
# traces of GPUs from the V100 to the B300
SHORTEST_NS = 1000


@dataclass(frozen=True)
class Peaks:
    """A GPU's limits. ``flops_per_s``: dense matrix products, by format (fp64, fp32, tf32,
    fp16, bf16); unknown ones are missing.
    """

    name: str
    bandwidth_bytes_per_s: float
    flops_per_s: Mapping[str, float]
    source: str


def peaks_of(device_name: str) -> Peaks | None:
    """The limits of a GPU by the name that CUDA or HIP gives it; None if it is not in
    the table, or only a slice of a GPU.
    """
    return known_peaks().get(bare_name(device_name))


def roofline_ns(work: Work, peaks: Peaks, number_format: str) -> float | None:
    """ns the work takes at least; None if the GPU's peak in this format is not known."""
    computing = _computing_ns(work, peaks, number_format)
    return None if computing is None else max(computing, work.moved_bytes / peaks.bandwidth_bytes_per_s * 1e9)


def retimed_ns(
    dur_ns: float, work: Work, peaks: Peaks, from_format: str, to_format: str
) -> tuple[float, float] | None:
    """ns that a kernel of ``dur_ns`` in one format would take in another, from best to worst; None
    if a peak or its work is not known.

    At best it keeps its share of the roofline, down to ``SHORTEST_NS``. At worst the time it takes above the
    roofline stays as it is (launch, tail, layout), and its arithmetic reaches ``REACHED`` of the peak. A
    kernel faster than its roofline is taken to be at it. A format with a lower roofline never takes longer
    than now. Numbers stored in ``from_format``, inputs and results, are taken to be stored in ``to_format``;
    casts that this takes elsewhere are not in it.
    """
    before, after = (
        roofline_ns(work, peaks, from_format),
        roofline_ns(work.stored(from_format, to_format), peaks, to_format),
    )
    if not before or not after or dur_ns <= 0:
        return None
    at_roofline = min(before, dur_ns)
    same_share, same_excess = dur_ns * (after / at_roofline), dur_ns - at_roofline + after
    if after >= before:
        return min(same_share, same_excess), max(same_share, same_excess)
    reached = (_computing_ns(work, peaks, to_format) or 0.0) / REACHED
    return min(dur_ns, max(same_share, SHORTEST_NS)), min(dur_ns, max(same_excess, reached, SHORTEST_NS))


def _computing_ns(work: Work, peaks: Peaks, number_format: str) -> float | None:
    peak = peaks.flops_per_s.get(number_format)
    if not work.flop:
        return 0.0
    return work.flop / peak * 1e9 if peak else None


@cache
def known_peaks() -> Mapping[str, Peaks]:
    """The table in peaks.toml, by the names that `peaks_of` looks for."""
    table = tomllib.loads(Path(__file__).with_name("peaks.toml").read_text(encoding="utf-8"))
    return {bare_name(name): _peaks(name, entry) for entry in table["gpu"] for name in entry["names"]}


def _peaks(name: str, entry: dict) -> Peaks:
    rates = {number_format: tera * 1e12 for number_format, tera in entry.items() if number_format in FORMATS}
    return Peaks(name, entry["bandwidth"] * 1e9, rates, entry["source"])
