"""What is computed again, with the backward that is its own, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.timelines import measured_case

TIMELINE = """
main  0    1000  step  ProfilerStep#1
main  0    400   mark  forward@20
main  0    390   op    aten::mm
main  500  400   mark  backward@21
main  510  390   op    autograd::engine::evaluate_function: MmBackward0
"""
# of 1,000 ns two forwards take 100 each, the second again, and their backward 400
LINE = {"function": "forward", "call_count": 1, "ns": 100, "trained_ns": 100}
SEEN = {
    "calls_ns": 1000,
    "backward_ns": 400,
    "trained_ns": 200,
    "at_once": [],
    "again": [{"file": "/job/train.py", "line": 20, **LINE}],
    "computed_again": [{"file": "/job/model.py", "line": 12, "line_trained_ns": 200, **LINE}],
}


def graphs(built: int, used: int, line: int = 12) -> list[dict[str, Any]]:
    told = {"built_count": built, "used_count": used, "kept_count": 0}
    return [{"file": "/job/model.py", "line": line, "function": "forward", **told}]


@pytest.mark.parametrize(
    ("facts", "share"),
    [
        ({}, 0.1 + 0.2),
        ({"graphs": graphs(34, 34)}, 0.1 + 0.2),
        ({"graphs": graphs(34, 17)}, 0.1),  # one of two has no backward: the one that is left has one
        ({"graphs": graphs(40, 30)}, 0.1 + 0.4 * (0.5 - 0.25) / 0.75),
        ({"graphs": graphs(34, 17, line=13)}, 0.1 + 0.2),
    ],
)
def test_a_graph_that_no_backward_uses_has_none_to_save(facts: dict[str, Any], share: float) -> None:
    """Of 800 µs that torch takes."""
    found = measured_case({"facts": {"dataflow": SEEN, **facts}, "timeline": TIMELINE})
    assert found.number("values_again_ms") == pytest.approx(0.8 * share)
