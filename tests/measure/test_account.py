"""Who spends each row of the ledger, of steps worked out by hand (microseconds)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from diagnose.document.account import account_rows
from diagnose.judge.timelines import measured_case
from diagnose.measure.account import RowAccount, account
from diagnose.measure.spenders import Spender
from diagnose.predict.headroom import headroom_ms
from diagnose.predict.prediction import Prediction

# The GPU works 100-200 and 800-1000; a wait until 500, then 300 of the launching thread.
GPU = """
main  0    1000  step        ProfilerStep#1
main  0    90    op          aten::mm
main  50   20    runtime     cudaLaunchKernel       {"correlation": 1}
gpu   100  100   kernel      sgemm                  {"correlation": 1}
main  200  300   op          aten::item
main  210  280   runtime     cudaStreamSynchronize
main  500  200   annotation  sort
main  510  180   op          aten::sort
main  790  10    op          aten::add
main  791  5     runtime     cudaLaunchKernel       {"correlation": 2}
gpu   800  200   kernel      add_kernel             {"correlation": 2}
"""


def rows(timeline: str, calls: str = "") -> dict[str, RowAccount]:
    return {row.row: row for row in account(measured_case({"timeline": timeline, "calls": calls}))}


def told(spenders: list[Spender]) -> dict[str, tuple[str, int]]:
    """Name → kind, µs."""
    return {one.name.text: (one.name.kind, one.ns // 1000) for one in spenders}


def test_a_busy_gpu_goes_to_what_launched_the_kernel_and_an_idle_one_to_what_the_host_does() -> None:
    found = rows(GPU)
    assert told(found["compute"].spenders) == {"aten::add": ("operator", 200), "aten::mm": ("operator", 100)}
    mostly = {one.name.text: one.mostly for one in found["compute"].spenders}
    assert mostly == {"aten::add": "add_kernel", "aten::mm": "sgemm"}
    waits = told(found["host_sync"].spenders)
    assert waits["aten::item"] == ("operator", 290)  # the call's 280, and 10 after it
    assert found["compute"].spenders[0].count == 1


def test_every_nanosecond_of_a_row_belongs_to_one_spender_at_most() -> None:
    for row in rows(GPU).values():
        assert sum(one.ns for one in row.spenders) <= row.named_ns <= row.ns


def test_the_ranges_that_are_the_steps_are_nobody_in_them() -> None:
    calls = "".join(
        f"""
        main  {ts}       900  annotation  step {ts}
        main  {ts + 10}  20   runtime     cudaLaunchKernel  {{"correlation": {ts}}}
        gpu   {ts + 40}  300  kernel      kernel_{ts * ts}  {{"correlation": {ts}}}
        """
        for ts in (0, 1000, 2000)
    )
    names = {name for row in rows(calls).values() for name in told(row.spenders)}
    assert "cudaLaunchKernel" in names and not any(name.startswith("step") for name in names)


def test_a_range_of_the_users_is_a_better_name_than_its_operators() -> None:
    """`sort` from 500 to 700, after the wait: its own 20 and its operator's 180."""
    found = rows(GPU)
    assert sum(told(row.spenders).get("sort", ("", 0))[1] for row in found.values()) == 200
    assert not any("aten::sort" in told(row.spenders) for row in found.values())


def test_our_wrappers_are_no_names() -> None:
    """The recorder wraps what it marks, and a profiler with stacks sees that: `forward` is the script's."""
    found = rows("""
        main  0    1000  step    ProfilerStep#1
        main  0    900   python  /home/me/train.py(7): forward
        main  50   600   python  /lib/diagnose/run/child/recording/marks.py(195): torch/nn/modules/module.py: _call_impl
        main  100  100   op      aten::mm
        main  500  100   op      aten::add
        main  700  100   python  /home/me/train.py(9): log
    """)
    names = {name for row in found.values() for name in told(row.spenders)}
    assert names == {"forward", "log", "aten::mm", "aten::add"}


def test_a_name_that_holds_nearly_everything_tells_nothing() -> None:
    """`train` is around all that the host does: its operators are named, 600 of mm's and 300 of add's."""
    found = rows("""
        main  0    1000  step        ProfilerStep#1
        main  5    990   annotation  train
        main  10   600   op          aten::mm
        main  650  300   op          aten::add
    """)
    assert told(found["operators"].spenders) == {
        "aten::mm": ("operator", 600),
        "aten::add": ("operator", 300),
    }


def test_what_an_optimizers_closure_computes_is_not_the_optimizers() -> None:
    """`step(closure)`, as LBFGS and Lightning have it: torch's range is around the whole of it."""
    found = rows("""
        main  0    1000  step        ProfilerStep#1
        main  0    250   mark        next@12
        main  250  750   mark        optimizer@14
        main  251  748   annotation  Optimizer.step#AdamW.step
        main  260  300   mark        forward@9
        main  260  300   op          aten::linear
        main  560  300   mark        backward@10
        main  560  300   op          aten::addmm
        main  860  130   op          aten::_fused_adamw_
    """)
    assert told(found["forward"].spenders) == {"aten::linear": ("operator", 300)}
    assert told(found["backward"].spenders) == {"aten::addmm": ("operator", 300)}
    assert set(told(found["optimizer"].spenders)) == {"Optimizer.step#AdamW.step"}


def test_a_wait_for_input_is_the_line_that_takes_the_batch() -> None:
    """A transform that is a module makes the line one of those that call the forward; it takes the batch all
    the same.
    """
    found = rows("""
        main  0    1000  step        ProfilerStep#1
        main  0    400   mark        next@12
        main  5    390   annotation  enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
        main  10   100   mark        forward@12
        main  500  300   op          aten::mm
    """)
    (waits,) = found["input_wait"].spenders
    assert (waits.name.kind, waits.name.line) == ("line", 12)


def test_time_without_an_event_is_named_after_the_one_before() -> None:
    found = rows("""
        main  0    1000  step  ProfilerStep#1
        main  0    300   op    aten::cat
        main  900  100   op    aten::mm
    """)
    assert told(found["python"].spenders) == {"aten::cat": ("gap", 600)}


def test_a_range_around_everything_is_no_name_for_time_without_an_event() -> None:
    found = rows("""
        main  0    1000  step        ProfilerStep#1
        main  0    1000  annotation  train
        main  0    300   op          aten::cat
        main  900  100   op          aten::mm
    """)
    assert told(found["python"].spenders) == {"aten::cat": ("gap", 600)}


def test_calls_of_the_detail_phase_name_the_lines_that_work_between_operators() -> None:
    """Of the 600 in which no operator runs line 7 is called for 450."""
    found = rows(
        """
        main  0    1000  step  ProfilerStep#1
        main  0    300   op    aten::cat
        main  900  100   op    aten::mm
        """,
        "350  450  7  train.py: main",
    )
    (line,) = found["python"].spenders
    assert (line.name.kind, line.name.file, line.name.line, line.ns) == ("line", "/job/train.py", 7, 450_000)
    assert line.host_share == pytest.approx(450 / 600)


def test_a_backward_is_named_after_the_range_of_its_forward() -> None:
    """With its forward the encoder takes 100 + 400 of 800; a range that takes nearly all tells nothing."""
    both = """
        main  0    1000  step        ProfilerStep#1
        main  0    100   annotation  encoder
        main  10   80    op          aten::mm     {"Sequence number": 7}
        main  100  100   annotation  {decoder}
        main  110  80    op          aten::add    {"Sequence number": 8}
        main  300  200   op          autograd::engine::evaluate_function: AddBackward0  {"Sequence number": 8}
        main  500  400   op          autograd::engine::evaluate_function: MmBackward0   {"Sequence number": 7}
    """
    spenders = rows(both.replace("{decoder}", "decoder"))["backward"].spenders
    assert [(one.name.text, one.name.backward, one.ns) for one in spenders] == [
        ("encoder", True, 400_000),
        ("decoder", True, 200_000),
    ]
    whole = rows(both.replace("{decoder}", "encoder"))["backward"].spenders
    assert [one.name.text for one in whole] == ["MmBackward0", "AddBackward0"]


def test_the_models_work_is_by_the_lines_that_the_detail_phase_knows() -> None:
    """Of 500 forward line 20 takes 300 and line 21 200, and of 450 backward theirs 100 and 350; a line that
    takes nearly all tells less than its operators. The marks at the lines stand for calls of the detail phase.
    """
    model = """
        main  0    1000  step  ProfilerStep#1
        main  0    500   mark  forward@9
        main  0    300   mark  call@20
        main  0    300   op    aten::mm   {"Sequence number": 7}
        main  300  200   mark  call@{second}
        main  300  200   op    aten::add  {"Sequence number": 8}
        main  520  460   mark  backward@10
        main  530  350   op    autograd::engine::evaluate_function: AddBackward0  {"Sequence number": 8}
        main  880  100   op    autograd::engine::evaluate_function: MmBackward0   {"Sequence number": 7}
    """
    calls = "520  460  10  torch: backward"
    found = rows(model.replace("{second}", "21"), calls)
    forward = {(one.name.line, one.ns) for one in found["forward"].spenders}
    backward = {(one.name.line, one.name.backward, one.ns) for one in found["backward"].spenders}
    assert forward == {(20, 300_000), (21, 200_000)}
    assert backward >= {(20, True, 100_000), (21, True, 350_000)}
    assert all(not one.host for one in found["forward"].spenders)  # when they run in the timeline: not known
    whole = rows(model.replace("{second}", "20"), calls)
    assert [one.name.text for one in whole["forward"].spenders] == ["aten::mm", "aten::add"]


def test_a_loss_is_told_by_the_line_that_calls_it() -> None:
    """Which calls of the model are known to every reader: what is inside them is asked about."""
    found = rows("""
        main  0    1000  step    ProfilerStep#1
        main  0    500   mark    forward@9
        main  0    500   python  nn.Module: Net_0
        main  0    480   op      aten::mm
        main  500  300   mark    forward@20
        main  500  300   python  nn.Module: CosineSimilarity_0
        main  500  290   op      aten::cosine_similarity
        main  800  100   mark    forward@30
        main  800  60    python  nn.Module: Net_0
        main  800  60    op      aten::mm
        main  860  40    python  nn.Module: CrossEntropyLoss_0
        main  860  40    op      aten::cross_entropy_loss
    """)
    names = {(one.name.text, one.name.line) for one in found["forward"].spenders}
    assert names == {("Net", -1), ("main", 20), ("CrossEntropyLoss", -1)}


def test_operators_beside_the_model_are_told_by_the_lines_that_call_them() -> None:
    """Of 600 outside of it line 20 takes 450 and line 21 150, or line 20 all; either is a part of what the
    operators take in the timeline.
    """
    beside = """
        main  0    1000  step  ProfilerStep#1
        main  0    450   mark  call@20
        main  0    400   op    aten::index
        main  400  50    op    aten::eq
        main  450  150   mark  call@{second}
        main  450  150   op    aten::index
        main  600  400   mark  forward@30
        main  600  400   op    aten::mm
    """
    calls = "0  450  20  torch: eq"
    (first, second) = rows(beside.replace("{second}", "21"), calls)["operators"].spenders
    assert (first.name.line, first.ns, first.mostly) == (20, 450_000, "aten::index")
    assert (second.name.line, second.ns, second.mostly) == (21, 150_000, "aten::index")
    assert (first.host_share, second.host_share) == (0.75, 0.25)
    (whole,) = rows(beside.replace("{second}", "20"), calls)["operators"].spenders
    assert (whole.name.line, whole.ns, whole.host_share) == (20, 600_000, 1.0)


def test_headroom_is_what_the_step_would_take_less_without_the_spender() -> None:
    """Without 300 of the wait all after it comes 300 earlier; 90 of mm come before everything."""
    measured = measured_case({"timeline": GPU})
    prediction = Prediction(measured)
    spenders = {one.name.text: one for row in account(measured) for one in row.spenders}
    assert headroom_ms(spenders["aten::item"], prediction) == pytest.approx(0.3, abs=0.015)
    assert headroom_ms(spenders["aten::mm"], prediction) == pytest.approx(0.09, abs=0.015)


def test_a_trace_without_a_step_has_no_account() -> None:
    assert account(measured_case({"timeline": "main 0 10 op aten::mm"})) != []
    assert rows("main  0  10  op  aten::mm")["operators"].named_ns == 10_000


def test_what_has_a_name_is_a_share_of_the_plain_step() -> None:
    """The host ran ahead: 60 of the recorded 100 µs are idle and nameless, and none of the plain step."""
    plain_ms = {"python": 0.0, "compute": 40.0}
    measured = SimpleNamespace(timeline=None, number=lambda _: 40.0, row_ms=plain_ms.__getitem__)
    rows_of_step = [RowAccount("python", 60, 0, []), RowAccount("compute", 40, 30, [])]
    prediction: Any = SimpleNamespace(measured=measured)
    nothing: Any = None
    assert account_rows(rows_of_step, prediction, nothing, []) == ([], 0.75)
