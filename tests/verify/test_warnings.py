"""What makes a comparison doubtful."""

from __future__ import annotations

import pytest

from diagnose.verify.warnings import warnings_of

AT_FULL_LOAD = {
    "throttle_reasons": ["sw_power_cap"],
    "sm_clock_mhz_median": 1410.0,
    "sm_clock_mhz_max_supported": 1980.0,
}


def said(**state: object) -> list[str]:
    return warnings_of([(arm, {"gpu_state": AT_FULL_LOAD | state}) for arm in ("before", "after")])


def test_a_gpu_at_full_load_runs_at_its_power_limit() -> None:
    assert said() == []


@pytest.mark.parametrize(
    "state",
    [
        {"throttle_reasons": ["hw_slowdown", "sw_power_cap"]},
        {"sm_clock_mhz_median": 900.0},  # less than half of its highest clock
        {"sm_clock_mhz_median": None},
    ],
)
def test_other_reasons_and_much_lower_clocks_are_told(state: dict[str, object]) -> None:
    reasons = ", ".join(state.get("throttle_reasons", ["sw_power_cap"]))  # type: ignore[arg-type, call-overload]
    assert said(**state) == [f"The GPU lowered its clock at times ({reasons})."]


def test_clocks_that_differ_between_the_arms_are_told() -> None:
    states = (("before", AT_FULL_LOAD), ("after", AT_FULL_LOAD | {"sm_clock_mhz_median": 1500.0}))
    assert warnings_of([(arm, {"gpu_state": state}) for arm, state in states]) == [
        "The GPU's clock was 1410 MHz in the runs as it is and 1500 MHz in those with the fix."
    ]
