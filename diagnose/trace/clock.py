"""Microseconds of a trace to exact integer nanoseconds.

Kineto writes microseconds with three decimals. Relative to ``baseTimeNanoseconds`` (torch 2.3 on) they stay
below 2**43, where a double is at most 0.5 ns off, so whole and fraction converted apart give the exact
nanosecond. Epoch microseconds without decimals (torch up to 2.1) are exact too. Epoch microseconds *with*
decimals need more than a double (its step is 0.25 µs there): `needs_decimals` finds them, and the reader
decodes such a file again as decimals.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

EXACT_BELOW_US = 2.0**43
# the year 2065; a difference of two such times and a duration still add up in int64 nanoseconds
LIMIT_US = 3e15
INVALID = int(np.iinfo(np.int64).min)


def needs_decimals(values: Sequence[object]) -> bool:
    """Whether some time was rounded by decoding it as a double."""
    exact = _doubles(values)
    if exact is None:
        exact = np.array([v for v in values if type(v) is float], dtype=np.float64)
    if not (exact > EXACT_BELOW_US).any():
        return False
    return bool(((exact > EXACT_BELOW_US) & (exact < LIMIT_US) & (exact != np.floor(exact))).any())


def nanoseconds(values: Sequence[object], absent: int = INVALID) -> NDArray[np.int64]:
    """Integer ns of times in µs given as float, Decimal, text or None (``absent``);
    `INVALID` where there is no usable time.
    """
    exact = _doubles(values)
    if exact is None:
        return np.array([absent if v is None else _one(v) for v in values], dtype=np.int64)
    usable = np.abs(exact) < LIMIT_US  # false for NaN
    if not usable.all():
        exact = np.where(usable, exact, 0.0)
    whole = np.floor(exact)
    ns = whole.astype(np.int64) * 1000 + np.rint((exact - whole) * 1000).astype(np.int64)
    return ns if usable.all() else np.where(usable, ns, INVALID)


def _doubles(values: Sequence[object]) -> NDArray[np.float64] | None:
    """The values as doubles; None unless all are."""
    if len(values) and isinstance(values[0], Decimal):  # which would become a double without a word
        return None
    try:
        return np.frombuffer(array("d", values), dtype=np.float64)  # type: ignore[type-var]
    except TypeError:  # text or None
        return None


def _one(value: object) -> int:
    if not isinstance(value, (int, float, Decimal, str)):
        return INVALID
    try:
        number = Decimal(value)
    except ArithmeticError:
        return INVALID
    if not number.is_finite() or number.copy_abs() >= Decimal(LIMIT_US):
        return INVALID
    return int((number * 1000).to_integral_value())
