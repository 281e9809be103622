"""The period of a sequence, against trying them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.trace.repetition import MIN_COVERAGE, NEARLY_AS_LONG, Repetition, border_phase, find_repetition


def found(text: str) -> tuple[int, int, int] | None:
    run = find_repetition(np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64))
    return tuple(run) if run else None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcabcabc", (3, 0, 9)),
        ("abcabcabca", (3, 0, 10)),
        ("abcabc", None),  # twice is no repetition
        ("xyzabababab", (2, 3, 8)),
        ("uvwxyzpqrababab", None),  # less than half of it repeats
        ("aaaabaaaabaaaab", (5, 0, 15)),  # not the four a's
        ("aaaa", (1, 0, 4)),
        ("abcdefg", None),
        ("", None),
        ("aa", None),
    ],
)
def test_by_hand(text: str, expected: tuple[int, int, int] | None) -> None:
    assert found(text) == expected


@given(
    st.text("ab", min_size=1, max_size=6),
    st.integers(1, 8),
    st.text("abc", max_size=6),
    st.text("abc", max_size=6),
)
def test_like_trying_every_period(motif: str, times: int, before: str, behind: str) -> None:
    text = before + motif * times + behind
    runs = []
    for period in range(1, len(text) // 3 + 1):
        equal = "".join("=" if a == b else "." for a, b in zip(text, text[period:], strict=False))
        longest = max(map(len, equal.split(".")))
        if longest and longest + period >= max(3 * period, MIN_COVERAGE * len(text)):
            runs.append((period, equal.index("=" * longest), longest + period))
    enough = NEARLY_AS_LONG * max((length for _, _, length in runs), default=0)
    assert found(text) == min((run for run in runs if run[2] >= enough), default=None)


def test_a_long_sequence_with_a_lead_in() -> None:
    random = np.random.default_rng(1)
    motif, lead_in = random.integers(0, 40, 1234), random.integers(0, 40, 5000)
    assert find_repetition(np.concatenate((lead_in, np.tile(motif, 20)))) == Repetition(1234, 5000, 20 * 1234)


def test_the_border_is_where_the_idle_gap_is_longest_in_most_repetitions() -> None:
    # gaps before every third: 11 and 131; elsewhere 1
    start = np.array([0, 10, 20, 40, 50, 60, 200, 210, 220, 240, 250, 260])
    dur = np.full(12, 9)
    assert border_phase(start, dur, Repetition(3, 0, 12)) == 0
    assert border_phase(start, dur, Repetition(3, 1, 11)) == 2
