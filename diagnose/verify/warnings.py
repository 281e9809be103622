"""What makes a comparison doubtful: other processes, a GPU that slows down or is shared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diagnose.measure.areas.gpu_state import slowing
from diagnose.verify.timing import Trial

OTHERS_SHARE = 0.1  # of the machine's processor time
CLOCK_DIFFERENCE = 0.03  # between the arms


def warnings_of(runs: Sequence[tuple[str, Trial]]) -> list[str]:
    """Sentences for people, about all runs that were compared; `before` or `after` stands with each."""
    notes = dict.fromkeys(note for _, run in runs for note in run.get("notes", ()))
    return [*_others(runs), *_gpu(runs), *notes]


def _others(runs: Sequence[tuple[str, Trial]]) -> list[str]:
    shares = [run["others_busy_share"] for _, run in runs if run.get("others_busy_share") is not None]
    busy = float(np.median(shares)) if shares else 0.0
    if busy < OTHERS_SHARE:
        return []
    return [
        f"Other programs used {100 * busy:.0f} % of this machine's CPU time: close them to reduce the noise."
    ]


def _gpu(runs: Sequence[tuple[str, Trial]]) -> list[str]:
    states = [(arm, run["gpu_state"]) for arm, run in runs if run.get("gpu_state")]
    said = []
    if any(state.get("other_process_count") for _, state in states):
        said.append("Other processes used the same GPU.")
    reasons = sorted(
        {reason for _, state in states for reason in slowing(state.get("throttle_reasons") or [])}
    )
    if reasons:
        said.append(f"The GPU lowered its clock at times ({', '.join(reasons)}).")
    clocks = {arm: _clock([state for of, state in states if of == arm]) for arm in ("before", "after")}
    before, after = clocks["before"], clocks["after"]
    if before and after and abs(after / before - 1) > CLOCK_DIFFERENCE:
        said.append(
            f"The GPU's clock was {before:.0f} MHz in the runs as it is and {after:.0f} MHz in those with "
            "the fix."
        )
    return said


def _clock(states: Sequence[dict]) -> float | None:
    known = [state["sm_clock_mhz_median"] for state in states if state.get("sm_clock_mhz_median")]
    return float(np.median(known)) if known else None
