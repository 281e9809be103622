"""What makes a comparison doubtful."""

from __future__ import annotations

import pytest

from diagnose.verify.paired import ending
from diagnose.verify.warnings import warnings_of

AT_FULL_LOAD = {
    "throttle_reasons": ["sw_power_cap"],
    "sm_clock_mhz_median": 1410.0,
    "sm_clock_mhz_max_supported": 1980.0,
}


def said(**state: object) -> list[str]:
    return warnings_of([(arm, {"gpu_state": AT_FULL_LOAD | state}) for arm in ("before", "after")])


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"sm_clock_mhz_median": 700.0},  # as a T4 or an L4 may run at its power limit
        {"sm_clock_mhz_median": None},
        # somebody's will, and the same in all runs
        {"throttle_reasons": ["applications_clocks_setting", "sync_boost"]},
        {"throttle_reasons": None},
    ],
)
def test_a_gpu_at_its_power_limit_or_at_a_set_clock_is_as_it_should_be(state: dict[str, object]) -> None:
    assert said(**state) == []


@pytest.mark.parametrize(
    "reason", ["hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"]
)
def test_heat_and_the_hardware_s_protection_are_told(reason: str) -> None:
    assert said(throttle_reasons=["sw_power_cap", reason]) == [
        f"The GPU lowered its clock at times ({reason})."
    ]


def test_others_on_the_same_gpu_are_told() -> None:
    assert said(other_process_count=1) == ["Other processes used the same GPU."]


def test_others_on_the_processor_are_told() -> None:
    runs = [("before", {"others_busy_share": share}) for share in (0.05, 0.4, 0.3)]
    assert warnings_of(runs) == [
        "Other programs used 30 % of this machine's CPU time: close them to reduce the noise."
    ]


def test_clocks_that_differ_between_the_arms_are_told() -> None:
    states = (("before", AT_FULL_LOAD), ("after", AT_FULL_LOAD | {"sm_clock_mhz_median": 1500.0}))
    assert warnings_of([(arm, {"gpu_state": state}) for arm, state in states]) == [
        "The GPU's clock was 1410 MHz in the runs as it is and 1500 MHz in those with the fix."
    ]


@pytest.mark.parametrize(
    "printed",
    [
        "RuntimeError: unable to allocate shared memory(shm) for file </torch_1>: No space left on device (28)",
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that "
        "dataloader's workers are out of shared memory.",
        "    sl = self._semlock = _multiprocessing.SemLock(\nOSError: [Errno 28] No space left on device",
    ],
)
def test_full_shared_memory_is_said_with_what_to_do(printed: str) -> None:
    assert ending({"ended": "crashed", "exit_code": 1, "signal": None, "printed": printed}) == (
        "it ended with exit code 1: /dev/shm is full, which hands batches over from workers (Docker: "
        "`--shm-size=2g`)"
    )


def test_a_full_disk_is_not_called_shared_memory() -> None:
    last = "OSError: [Errno 28] No space left on device"
    said = ending(
        {"ended": "crashed", "exit_code": 1, "signal": None, "printed": f"torch.save(model, path)\n{last}"}
    )
    assert said == f"it ended with exit code 1: {last}"
