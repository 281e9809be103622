"""Lines that make tensors by `torch.FloatTensor(…)` or the like: of a list they read each number by itself,
in a call that no profiler sees.
"""

from __future__ import annotations

from diagnose.measure.areas.own_lines import without_calls_ms
from diagnose.measure.measured import FactPlace, Measured, fact_selector
from diagnose.measure.missing import NOT_RECORDED, Missing
from diagnose.measure.traced_lines import own_times

_MOST_STEPS = 0.5  # a line that comes less often a step is no work of most steps


@fact_selector(
    "typed_tensors", "lines that make tensors by `torch.FloatTensor(…)` or the like, without a call"
)
def _typed_tensors(measured: Measured) -> list[FactPlace] | Missing:
    told = (measured.recording.facts.get("line_times") or {}).get("lines") or []
    if not any("makes_typed_tensor" in line for line in told):
        return NOT_RECORDED
    times, quiet_ms = own_times(measured), without_calls_ms(measured)
    lines = {(line["file"], line["line"]) for line in told if line.get("makes_typed_tensor")}
    return [
        FactPlace(*place, times[place].function, times[place].count_per_step, quiet_ms[place])
        for place in sorted(lines & quiet_ms.keys(), key=lambda place: -quiet_ms[place])
        if times[place].count_per_step > _MOST_STEPS
    ]
