"""What larger batches save, and at which line a batch in pieces is told."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import FACT_SELECTORS, FactPlace
from diagnose.measure.missing import known

PIECES = {"file": "/job/train.py", "line": 3, "function": "loss", "class": "Net", "call_count": 4}
PIECES |= {"times": 4, "accumulates": True, "as_is_ms": [2.5] * 6, "changed_ms": [5.0] * 6}
SOURCE = """
def loss(x):
    return model(x).mean()
for epoch in range(3):
    for x in batches:
        if x:
            loss(x).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("source", "backwards", "line"),
    [
        (SOURCE, [7], 5),
        (SOURCE, [7, 8], 3),  # several
        ("", [7], 3),  # no source
        ("loss(x).backward()", [1], 3),  # no loop
    ],
)
def test_pieces_are_told_at_the_loop_that_goes_backward(source: str, backwards: list[int], line: int) -> None:
    timeline = "main 0 20000 step ProfilerStep#1\nmain 0 9000 mark forward@3\nmain 0 8900 op aten::mm\n"
    for number, backward in enumerate(backwards):
        timeline += f"main {9000 + 5000 * number} 5000 mark backward@{backward}\n"
    facts = {"larger_batches": [PIECES], "sources": {"/job/train.py": {"title": "train", "text": source}}}
    one = measured_case({"timeline": timeline, "facts": facts})
    (place,) = FACT_SELECTORS["accumulated_batches"].places(one)  # type: ignore[misc]
    assert isinstance(place, FactPlace) and place.line == line
    assert place.ms_per_step == pytest.approx(one.number("whole_batch_gain_share") * 20)


def test_the_loss_of_each_piece_saves_half_as_much_as_its_model() -> None:
    """Half of the model's 10 ms is left, and three quarters of 6 more: of 9 forward, 2 of the loss, 5 backward
    in all.
    """
    timeline = """
    main  0      20000  step  ProfilerStep#1
    main  0      9000   mark  forward@3
    main  0      9000   op    aten::mm
    main  9000   2000   op    aten::conv2d
    main  12000  5000   mark  backward@7
    main  12000  5000   op    autograd::engine::evaluate_function: MmBackward0
    """
    one = measured_case({"timeline": timeline, "facts": {"larger_batches": [PIECES]}})
    assert one.number("whole_batch_gain_share") == pytest.approx((5 + 1.5) / 20)
    both = measured_case({"timeline": timeline, "facts": {"larger_batches": [PIECES, PIECES]}})
    assert both.number("whole_batch_gain_share") == pytest.approx(2 * 5 / 20)  # of two models each by itself


@pytest.mark.parametrize(
    ("as_is_ms", "changed_ms", "saved_ms"),
    [
        ([4.0] * 6, [8.0] * 6, 2 + 1.5),  # half of the model's 4 ms, and of the optimizer's 2 three quarters
        ([4.0] * 6, [18.0] * 6, 1.5 - 0.5),  # a sample takes an eighth more
        ([4.0] * 6, [28.0] * 6, None),  # three quarters more: 3 ms
        ([], [], None),  # too long to be timed
    ],
)
def test_what_a_sample_takes_in_larger_batches_counts_beside_the_optimizer(
    as_is_ms: list[float], changed_ms: list[float], saved_ms: float | None
) -> None:
    timeline = """
    main  0     8000  step  ProfilerStep#1
    main  0     2000  mark  forward@3
    main  0     2000  op    aten::linear
    main  2000  2000  mark  backward@4
    main  2000  2000  op    aten::mm
    main  4000  2000  mark  optimizer@5
    main  4000  2000  op    aten::add_
    """
    called = {"file": "/job/train.py", "line": 3, "function": "main", "call_count": 1, "times": 4}
    called |= {"as_is_ms": as_is_ms, "changed_ms": changed_ms}
    one = measured_case({"timeline": timeline, "facts": {"larger_batches": [called]}})
    places = known(FACT_SELECTORS["small_training_batches"].places(one))
    assert [place.ms_per_step for place in places] == ([] if saved_ms is None else [pytest.approx(saved_ms)])
