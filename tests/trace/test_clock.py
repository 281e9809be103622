"""Microseconds to nanoseconds, to the last digit the file holds."""

from __future__ import annotations

from decimal import Decimal

from diagnose.trace.clock import INVALID, nanoseconds, needs_decimals
from tests.trace.build import event, kernel, read


def test_three_decimals_survive_in_a_double_below_2_to_the_43() -> None:
    # 7 999 999 999 999.001 µs: 92 days, as far as Kineto's relative times reach
    assert nanoseconds([0.001, 5591.581, 7_999_999_999_999.001]).tolist() == [
        1,
        5_591_581,
        7_999_999_999_999_001,
    ]


def test_epoch_with_decimals_needs_decimals_and_gets_them() -> None:
    assert needs_decimals([1_702_326_549_123_456.8])
    assert not needs_decimals([1_702_326_549_123_456.0, 5591.581, None, "12.5"])
    assert (
        nanoseconds([Decimal("1702326549123456.789"), "1702326549123456.789"]).tolist()
        == [1_702_326_549_123_456_789] * 2
    )


def test_times_before_zero_round_to_the_nearest() -> None:
    assert nanoseconds([-0.5, -1234.567]).tolist() == [-500, -1_234_567]


def test_unusable_times_are_told_apart() -> None:
    assert nanoseconds([None, float("nan"), float("inf"), 1e300, 4.0]).tolist() == [INVALID] * 4 + [4000]
    assert nanoseconds(["soon", None, "4", "NaN", "1e9999999"]).tolist() == [
        INVALID,
        INVALID,
        4000,
        INVALID,
        INVALID,
    ]


def test_a_time_of_nothing_is_none_beside_times_since_1970() -> None:
    trace = read(event("aten::mm", 1.7e15, 5), kernel("k", 1.7e15 + 10, 5, 1), kernel("stray", 0, 5, 2))
    assert list(trace.device["name"]) == ["k"]
    assert trace.notes[0] == "Left out: 1 event without a usable time."
    assert len(read(event("aten::mm", 5, 5), kernel("k", 0, 5, 1)).device) == 1
