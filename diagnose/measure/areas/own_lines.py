"""Own lines: calls that the script's own lines make beside the model, by what they call."""

from __future__ import annotations

import numpy as np

from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Rows, category_matches


def calls_to(view: Selection, pattern: str) -> Rows:
    """Calls inside complete steps whose callee matches the regular expression."""
    return np.flatnonzero(category_matches(view.calls["callee"].array, pattern) & view.calls_in_steps)


@selector("checkpoint_calls", "calls of `torch.save`", table="calls")
def _checkpoint_calls(view: Selection) -> Rows:
    return calls_to(view, r"^torch/serialization\.py: save$")
