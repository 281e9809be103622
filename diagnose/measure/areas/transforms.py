"""Fourier transforms that take longer than they need: of a length with a large prime factor, which a CPU's
library computes the long way; of real numbers as if they were complex.
"""

from __future__ import annotations

import math
import re

import numpy as np

from diagnose.measure.areas.operators import both_ways, input_shapes, shape_of
from diagnose.measure.areas.slow_paths import left_of, rows_of
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Rows, once, test_at

# ns a real number on one core of an EPYC, torch 2.13 with MKL, of 256 to 16,000 numbers: lengths with prime
# factors up to 13 took 1.2 to 3.6, with 17 7, with 37 12, primes 13 to 40
SMALL_PRIME, SMALL_PRIME_NS = 13, 3.5
FAR_LONGER = 2.0
NUMBERS_AT_LEAST = 10_000
REAL_FIRST = re.compile(r'\["(?:float|double|c10::Half|c10::BFloat16)"')  # of the inputs' types
# real numbers of each of the input, which may be one half of a spectrum
OF_REAL, OF_HALF, OF_COMPLEX = "aten::_fft_r2c", "aten::_fft_c2r", "aten::_fft_c2c"
REAL_NUMBERS = {OF_REAL: 1, OF_HALF: 2, OF_COMPLEX: 2}


@selector(
    "slow_transforms", "slow Fourier transforms whose length has a prime factor above 13", needs="shapes"
)
def _slow_transforms(view: Selection) -> Rows:
    return rows_of(view, _slow)


@metric("slow_transforms_left", "share", "Share of the time of these transforms that a good length takes")
def _slow_transforms_left(measured: Measured) -> Value | Missing:
    return left_of(measured, _slow)


@metric("slow_transforms_length", "", "Length of the costliest of these transforms")
def _slow_transforms_length(measured: Measured) -> Value | Missing:
    view = measured.timeline
    slow = _slow(view) if view is not None else []
    if view is None or not slow:
        return Missing("none is so slow")
    took_ns = view.host["dur_ns"].to_numpy()
    row = max((row for row, _ in slow), key=lambda row: took_ns[row])
    return " or ".join(map(str, _lengths(view, row)))


@selector(
    "complex_transforms",
    "complex Fourier transforms of real numbers or back to real ones, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _complex_transforms(view: Selection) -> Rows:
    """Back: where the next operator takes the real part."""
    there = view.named(view.name_matches(r"^aten::fft_fft(2|n)?$"))
    back = view.named(view.name_matches(r"^aten::fft_ifft(2|n)?$"))
    of_real = test_at(view.host["dtypes"].array, there, lambda text: REAL_FIRST.match(text) is not None)
    takes_real = view.name_matches(r"^aten::real$")
    following = _following_operator(view)[back]
    return np.sort(np.concatenate([there[of_real], back[(following >= 0) & takes_real[following]]]))


def _following_operator(view: Selection) -> Rows:
    """For each host event the next operator on its thread in the same one; -1 for none."""
    ops = np.flatnonzero(view.kind == "op")
    thread, around = (view.host[column].to_numpy()[ops] for column in ("tid", "parent"))
    ops = ops[np.lexsort((ops, around, thread))]
    thread, around = (view.host[column].to_numpy()[ops] for column in ("tid", "parent"))
    together = np.flatnonzero((thread[1:] == thread[:-1]) & (around[1:] == around[:-1]))
    found = np.full(len(view.host), -1)
    found[ops[together]] = ops[together + 1]
    return found


@once
def _slow(view: Selection) -> list[tuple[int, float]]:
    """Each with what as many numbers take in transforms of good lengths, ns."""
    found: list[tuple[int, float]] = []
    if view.has_device:
        return found
    took_ns = view.host["dur_ns"].to_numpy()
    for row in view.named(view.name_matches(r"^aten::_fft_(r2c|c2r|c2c)$")).tolist():
        shape = _shape(view, row)
        numbers = REAL_NUMBERS[str(view.name[row])] * math.prod(shape or (0,))
        left_ns = SMALL_PRIME_NS * numbers / max(1, min(view.threads, math.prod(shape[:-1])))
        is_awkward = all(largest_prime_factor(length) > SMALL_PRIME for length in _lengths(view, row))
        if numbers >= NUMBERS_AT_LEAST and is_awkward and took_ns[row] > FAR_LONGER * left_ns:
            found.append((row, left_ns))
    return found


def _shape(view: Selection, row: int) -> tuple[int, ...]:
    given = input_shapes(view.host["shapes"].array[row])
    return tuple(next((shape_of(shape) for shape in given), ()) or ())


def _lengths(view: Selection, row: int) -> tuple[int, ...]:
    """Along the last dimension; of half a spectrum of k numbers it is one of two."""
    shape = _shape(view, row)
    if not shape:
        return (1,)
    is_half = view.name[row] == OF_HALF
    return (2 * shape[-1] - 2, 2 * shape[-1] - 1) if is_half else (shape[-1],)


def largest_prime_factor(number: int) -> int:
    """Of a number from 1 on; 1 has none."""
    largest, factor = 1, 2
    while factor * factor <= number:
        while number % factor == 0:
            number, largest = number // factor, factor
        factor += 1
    return max(largest, number)
