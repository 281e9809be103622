"""What the ranks of one trial left, as one: a job is as fast as any of its ranks,
but data and fixes are those of all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Left = dict[str, Any]  # what a rank's trial.json says (docs/architecture.md)

_NOTHING: Left = {
    "tick_ns": [],
    "device_ms": None,
    "batch_hashes": [],
    "batch_size": None,
    "fetched_ahead": 0,
    "losses": None,
    "outputs": None,
    "interventions": [],
}
_PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_resident_bytes")


def left_in(folder: Path) -> Left:
    """Of all ranks that left anything in the trial's folder; what a script without steps leaves if none
    did.
    """
    numbers = sorted(int(path.name[4:]) for path in folder.glob("rank*") if path.name[4:].isdecimal())
    found = [left for number in numbers if (left := _read(folder / f"rank{number}" / "trial.json"))]
    return together(found) if found else dict(_NOTHING)


def together(ranks: Sequence[Left]) -> Left:
    """Times, losses and outputs are the first rank's: the ranks wait for each other in every step.

    A fix holds if it does on any rank.
    """
    first = ranks[0]
    hashes = [left["batch_hashes"] for left in ranks if left["batch_hashes"]]
    return first | {
        "batch_hashes": ["+".join(of_step) for of_step in zip(*hashes, strict=False)],
        "interventions": [
            _fix(of_ranks) for of_ranks in zip(*(left["interventions"] for left in ranks), strict=True)
        ],
        **{
            peak: max((left[peak] for left in ranks if left[peak] is not None), default=None)
            for peak in _PEAKS
        },
    }


def _fix(of_ranks: Sequence[Left]) -> Left:
    return {
        "held": sum(of_rank["held"] for of_rank in of_ranks),
        "why_not": next((of_rank["why_not"] for of_rank in of_ranks if of_rank["why_not"]), ""),
    }


def _read(file: Path) -> Left | None:
    try:
        left: Left = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return left
