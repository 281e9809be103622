"""Workers of loaders beside the one that feeds the steps: validation's, started anew each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diagnose.measure.areas.input import feeding_loader
from diagnose.measure.areas.input_rhythm import end_of_workers_ms
from diagnose.measure.epochs import epoch_begins, starts_each_epoch
from diagnose.measure.measured import FactPlace, Measured, fact_selector
from diagnose.measure.missing import Missing, known


def _restarted(measured: Measured) -> Iterator[tuple[dict[str, Any], float]]:
    """Other loaders that start workers again and again, and in how many steps once."""
    feeding = known(feeding_loader(measured))
    for loader in measured.recording.facts["loaders"]:
        if loader is feeding or not loader["num_workers"] or loader.get("persistent_workers"):
            continue
        begins = epoch_begins(measured.recording, loader)
        if len(begins) > 1:
            yield loader, float(np.median(np.diff(begins))) / starts_each_epoch(measured.recording, loader)


@fact_selector(
    "other_loader_starts", "starting and ending workers of loaders beside the one that feeds the steps"
)
def _other_loader_starts(measured: Measured) -> list[FactPlace] | Missing:
    """Without the first start of each, which persistent workers pay too."""
    return [
        FactPlace(
            loader["file"],
            int(loader["line"]),
            loader["function"],
            1 / steps,
            (float(np.median(loader["iterator_start_ms"][1:])) + end_of_workers_ms(loader)) / steps,
        )
        for loader, steps in _restarted(measured)
        if len(loader.get("iterator_start_ms") or []) > 1
    ]
