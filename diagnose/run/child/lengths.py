"""How many batches or samples there are, asked of the script's objects so that they stay as they were."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from .identical import random_state_kept
from .loading.randomness import is_generator


def length(sized: Any) -> int | None:
    """None where there is none, or asking could draw from a generator that a sampler of the script's keeps:
    some count what they would give by going through it.
    """
    try:
        if any(map(_may_draw, _asked(sized))):
            return None
        with random_state_kept():
            return len(sized)
    except Exception:  # whatever the script's own raises
        return None


def _asked(sized: Any) -> list[Any]:
    """It and those whose length torch asks in turn: of a loader the sampler, of batches that of samples."""
    asked = [sized]
    if isinstance(sized, DataLoader) and not isinstance(sized.dataset, IterableDataset):
        asked.append(sized._index_sampler)
    while _is_torchs(asked[-1]) and (inner := getattr(asked[-1], "sampler", None)) is not None:
        asked.append(inner)
    return asked


def _is_torchs(sized: Any) -> bool:
    return str(getattr(type(sized).__len__, "__module__", "")).startswith("torch.utils.data")


def _may_draw(sized: Any) -> bool:
    held = getattr(sized, "__dict__", {}).values()
    return not _is_torchs(sized) and any(map(is_generator, held))
