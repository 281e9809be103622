"""Which of the plan's findings is about which spender."""

from __future__ import annotations

import numpy as np

from diagnose.document.blame import Touched
from diagnose.judge.rules import load_rules
from diagnose.judge.timelines import measured_case
from diagnose.measure.names import Name
from diagnose.measure.spenders import Spender

RULES = load_rules()
STEP = """
main  0   1000  step  ProfilerStep#1
main  0   300   op    aten::split_with_sizes
main  400 100   op    aten::cat
bwd   500 300   op    aten::split_with_sizes
"""


def spender(*spans_us: tuple[int, int], thread: int) -> Spender:
    ns = 1000 * np.array(spans_us, np.int64)
    return Spender(Name("operator", "some"), "", int((ns[:, 1] - ns[:, 0]).sum()), 1, {thread: ns})


def test_a_spender_is_the_rules_that_blames_most_of_its_time_in_its_thread() -> None:
    measured = measured_case({"timeline": STEP})
    assert measured.timeline is not None
    main = measured.timeline.trace.training_thread
    touched = Touched(measured, [RULES["host-sync"], RULES["tensor-in-pieces"]])
    assert touched.rule(spender((0, 300), (400, 500), thread=main)) == "tensor-in-pieces"
    assert touched.rule(spender((100, 200), (400, 500), thread=main)) is None  # half of it is not most
    assert touched.rule(spender((500, 800), thread=main)) is None
