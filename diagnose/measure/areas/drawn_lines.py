"""Lines that change whole batches by numbers drawn at random: nobody can do that once or before, and where no
core is free no worker can do it beside the step.
"""

from __future__ import annotations

from diagnose.measure.areas.at_once import fixed_ms
from diagnose.measure.areas.workers import SPARE_CORES
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.told_calls import dataflow
from diagnose.measure.traced_lines import Line
from diagnose.measure.view import once

_MOST = 0.8  # of what torch does under such a line
_TIMES_FIXED = 2.0  # what a call takes of what it would for one number: it is about a batch


@once
def always_new(measured: Measured) -> dict[Line, float]:
    """Of each such line what torch does under it in a step, ms; empty where a core is free, or where that is
    not known.
    """
    told = dataflow(measured)
    if isinstance(told, Missing) or not measured.number("free_core_count") < SPARE_CORES:
        return {}
    whole_ns = {(line["file"], line["line"]): line["ns"] for line in told.get("around", [])}
    found = {}
    for line in told.get("drawn", []):
        place = (line["file"], line["line"])
        for_batches = line["ns"] >= _TIMES_FIXED * fixed_ms(measured) * 1e6 * line["call_count"]
        if for_batches and line["ns"] >= _MOST * whole_ns.get(place, 0):
            found[place] = line["ns"] / 1e6
    return found
