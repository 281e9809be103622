"""Rules on a recording whose steps nothing marks: shares are judged, counts per step only where they say no."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.findings import finding
from diagnose.judge.rules import parse_rule
from diagnose.judge.timelines import measured_case
from diagnose.measure.missing import FIRST_CALLS, NO_BORDERS
from tests.test_rules import GOOD

# Two copies from pageable memory, 60 of 100 µs: names differ, so that nothing repeats.
UPLOADS = """
main  0    10   op       aten::mm
main  1    5    runtime  cudaLaunchKernel  {"correlation": 3}
gpu   10   20   kernel   gemm  {"correlation": 3}
main  30   30   op       aten::copy_
main  31   28   runtime  cudaMemcpyAsync  {"correlation": 1}
gpu   32   25   memcpy   Memcpy HtoD (Pageable -> Device)  {"correlation": 1, "bytes": 640000}
main  60   40   op       aten::to
main  61   38   runtime  cudaMemcpyAsync  {"correlation": 2}
gpu   62   35   memcpy   Memcpy HtoD (Pageable -> Device)  {"correlation": 2, "bytes": 640000}
"""


def state(*when: tuple[str, str, float], text: str = UPLOADS) -> tuple[str, Any]:
    conditions = [
        {"metric": metric, "op": op, "value": value, "because": "a test"} for metric, op, value in when
    ]
    rule = parse_rule({**GOOD, "when": conditions}, GOOD["id"])
    found = finding(rule, measured_case({"timeline": text}))
    return found.state, found.abstains_for and found.abstains_for.reason


SHARE = ("pageable_htod_share", ">=", 0.3)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ([SHARE, ("pageable_htod_count_per_step", ">=", 1)], "fires"),
        ([SHARE, ("pageable_htod_count_per_step", ">=", 3)], "quiet"),  # there are only two
        ([SHARE, ("pageable_htod_count_per_step", "<", 1)], "fires"),  # two in perhaps many steps
        ([("pageable_htod_share", ">=", 0.9), ("pageable_htod_count_per_step", ">=", 1)], "quiet"),
        ([("pageable_htod_count_per_step", ">=", 1)], "abstains"),  # what it costs is not asked
        ([("pageable_htod_share", "<", 0.9), ("pageable_htod_count_per_step", ">=", 1)], "abstains"),
    ],
)
def test_a_count_per_step_decides_only_where_the_whole_recording_has_fewer(
    when: list[tuple[str, str, float]], expected: str
) -> None:
    assert state(*when) == (expected, NO_BORDERS.reason if expected == "abstains" else None)


def test_in_a_cold_recording_nothing_is_known_to_come_back() -> None:
    cold = (
        UPLOADS
        + 'main  100  900  runtime  cudaLaunchKernel  {"correlation": 9}\ngpu  1000  1  kernel  relu  {"correlation": 9}\n'
    )
    share = ("pageable_htod_share", ">=", 0.03)
    assert state(share, ("pageable_htod_count_per_step", ">=", 1), text=cold) == (
        "abstains",
        FIRST_CALLS.reason,
    )
