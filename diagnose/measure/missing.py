"""What a number that cannot be known is instead: why, and what would record it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

Known = TypeVar("Known")


@dataclass(frozen=True)
class Missing:
    """Why a number cannot be known, and the option that would record it.

    ``in_trace``: the same for a lone trace, where that is something else. ``at_most``: the most that the
    number can be, where that is known.
    """

    reason: str
    option: str = ""
    in_trace: Missing | None = None
    at_most: float | None = None


class Unknown(Exception):
    """Raised where a metric needs a number that is missing; the metric is then missing for the same
    reason.
    """

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing.reason)
        self.missing = missing


def known(value: Known | Missing) -> Known:
    """The value itself; raises Unknown if it is missing."""
    if isinstance(value, Missing):
        raise Unknown(value)
    return value


ONLY_IN_A_RUN = Missing("only a run of the script records this", "python -m diagnose YOUR_SCRIPT.py")
NO_FACTS = Missing("the run ended before this was recorded", in_trace=ONLY_IN_A_RUN)
NOT_RECORDED = Missing("this run did not record it", in_trace=ONLY_IN_A_RUN)
NO_STEPS = Missing(
    "no complete step was recorded", in_trace=Missing("no complete step was recorded", "profiler.step()")
)
NO_PLAIN_STEPS = Missing("no step was timed without a profiler", "--plain-steps 20", in_trace=ONLY_IN_A_RUN)
NO_BORDERS = Missing("the trace marks no steps, so nothing can be counted per step", "profiler.step()")
FIRST_CALLS = Missing(
    "the trace marks no steps and holds many first calls, so what comes back in each step is not known",
    "torch.profiler.schedule(wait=1, warmup=3, active=5)",
)
NO_GPU = Missing(
    "no GPU in this recording",
    "--device cuda",
    in_trace=Missing("no GPU in this recording", "activities=[…, ProfilerActivity.CUDA]"),
)
ONE_RANK = Missing(
    "one rank was recorded",
    "torchrun --nproc-per-node N -m diagnose YOUR_SCRIPT.py",
    in_trace=Missing("one rank was recorded", "python -m diagnose FOLDER_OF_ALL_RANKS"),
)
NO_SHAPES = Missing("input shapes were not recorded", "record_shapes=True")
NO_HOST = Missing("the trace holds no host events", "activities=[ProfilerActivity.CPU, …]")
NO_COST = Missing("a recording does not show what it costs in ms", "python -m diagnose compare OLD NEW")
NO_COUNT = Missing("how often this happens is not known")
NO_CALLS_SEEN = Missing(
    "the detail phase, which records the calls in your code, did not run (--no-stacks skips it)",
    in_trace=ONLY_IN_A_RUN,
)
