"""What the edits of rules do to a step, each worked out by hand. Timelines in µs, savings in ms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.judge.findings import Finding
from diagnose.judge.rules import Saving, load_rules
from diagnose.judge.timelines import measured_case
from diagnose.measure.view import NO_INTERVALS
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.replay import Edit, Replay
from diagnose.predict.saving import change_of, saving_of
from diagnose.predict.widths import Width

RULES = load_rules()


def repeated(lines: str, every: int) -> str:
    """Three steps of these lines; the ``correlation`` of the events counts up."""
    steps = [
        f'main 0 {every} step ProfilerStep#1 {{"repeat": 3, "every": {every}}}',
        f'main 0 {every} annotation t {{"repeat": 3, "every": {every}}}',
    ]
    for line in filter(str.strip, lines.splitlines()):
        text, _, correlation = line.strip().partition(" #")
        given = f', "correlation": {correlation}' if correlation else ""
        extra = text[text.index("{") + 1 : -1] + ", " if "{" in text else ""
        steps.append(f'{text.split("{")[0]} {{{extra}"repeat": 3, "every": {every}{given}}}')
    return "\n".join(steps)


def gained_us(timeline: str, rule: str, edit: str, left: float = 0.0) -> float:
    """What a fix of the rule's events gains a step."""
    prediction = Prediction(measured_case({"timeline": timeline}))
    assert prediction.missing is None and prediction.error == pytest.approx(0, abs=1e-3)
    changed = replace(RULES[rule], saving=Saving(edit, "step", left, (left, left)))
    change = change_of(Finding(changed, "fires", (), 1.0, ()), prediction)
    assert change is not None
    return 1000 * (prediction.recorded_ms - prediction.step_ms([change]))


# The host reads a value: launches 100 of GPU work, waits for it until 115, and
# works 85 more before the next step.
READ = repeated(
    """
    main 0   6   op      aten::mm
    main 1   5   runtime cudaLaunchKernel      #100
    gpu  10  100 kernel  gemm                  #100
    main 8   107 mark    item@7
    main 10  105 op      aten::item
    main 12  100 runtime cudaStreamSynchronize #200
    main 120 75  op      aten::add
    """,
    200,
)


def test_remove_takes_the_work_and_its_wait() -> None:
    # Without the read the host needs 100 of its own. The kernel's 100 run beside that, 101.5
    # with the usual gap before the next.
    assert gained_us(READ, "host-sync", "remove") == pytest.approx(98.5)


def test_unblock_keeps_the_work_and_drops_the_wait() -> None:
    # The call still takes its own 5, so the host needs 105 a step and sets the pace.
    assert gained_us(READ, "host-sync", "unblock", left=1.0) == pytest.approx(95)


# A kernel of 150 in a step of 200 that the GPU fills; the host needs 60.
FULL = repeated(
    """
    main 0   30  op      aten::mm              {"Input Dims": [[64, 64]], "Input type": ["float"]}
    main 5   5   runtime cudaLaunchKernel      #100
    gpu  20  150 kernel  sgemm                 #100
    main 30  20  op      aten::add
    main 35  5   runtime cudaLaunchKernel      #300
    gpu  171 39  kernel  add                   #300
    main 60  150 runtime cudaDeviceSynchronize #500
    """,
    215,
)


@pytest.mark.parametrize(("left", "gained"), [(0.5, 75.0), (0.8, 30.0), (1.0, 0.0)])
def test_retime_gives_back_what_the_kernels_took(left: float, gained: float) -> None:
    assert gained_us(FULL, "fp32-matmul", "retime", left) == pytest.approx(gained, abs=0.5)


def test_retime_gains_nothing_where_the_host_sets_the_pace() -> None:
    # The same kernels, but the host needs 400 a step and waits for none of them.
    slow_host = repeated(
        """
        main 0   30  op      aten::mm         {"Input Dims": [[64, 64]], "Input type": ["float"]}
        main 5   5   runtime cudaLaunchKernel #100
        gpu  20  150 kernel  sgemm            #100
        main 30  365 op      aten::add
        """,
        400,
    )
    assert gained_us(slow_host, "fp32-matmul", "retime", 0.5) == pytest.approx(0, abs=0.5)


# Ten kernels of 5, each launched after 20 of host work: the GPU idles between them.
KERNEL = """
main {host} 20 op      aten::add
main {call} 5  runtime cudaLaunchKernel #{number}
gpu  {gpu}  5  kernel  add              #{number}
"""
SHORT = repeated(
    "".join(
        KERNEL.format(host=at, call=at + 10, gpu=at + 18, number=100 + 5 * at) for at in range(0, 200, 20)
    ),
    200,
)


def test_fuse_leaves_the_kernels_and_launches_them_at_once() -> None:
    # The host's time in which the GPU idles goes, 15 of every 20; 50 are left. Ten kernels of
    # 5 with the usual gap of 1.5 need 65.
    assert gained_us(SHORT, "launch-bound-short-kernels", "fuse", 1.0) == pytest.approx(135)


def test_shrink_on_the_host_alone() -> None:
    # No GPU: 120 of 200 are the optimizer's, to half of that.
    optimizer = "\n".join(
        f"main {200 * i} 200 step ProfilerStep#{i}\nmain {200 * i + 60} 120 mark optimizer@9\nmain "
        f"{200 * i + 61} 118 op aten::add_"
        for i in range(3)
    )
    prediction = Prediction(measured_case({"timeline": optimizer}))
    halved = replace(RULES["optimizer-heavy"], saving=Saving("shrink", "step", 0.5, (0.5, 0.5)))
    change = change_of(Finding(halved, "fires", (), 0.12, (), row="optimizer"), prediction)
    assert change is not None
    assert 1000 * (prediction.recorded_ms - prediction.step_ms([change])) == pytest.approx(60, abs=0.5)


def test_a_cost_known_in_ms_only_comes_off_its_row() -> None:
    # 80 of the 200 are Python; a call of the script's own line is known to take 30 of them.
    python = "\n".join(
        f"main {200 * i} 200 step ProfilerStep#{i}\nmain {200 * i + 60} 120 op aten::add_" for i in range(3)
    )
    prediction = Prediction(measured_case({"timeline": python}))
    change = change_of(Finding(RULES["sleep-in-loop"], "fires", (), 0.03, (), row="python"), prediction)
    assert change is not None
    assert 1000 * (prediction.recorded_ms - prediction.step_ms([change])) == pytest.approx(30, abs=0.5)


def test_what_only_some_steps_pay_comes_off_the_average_step() -> None:
    prediction = Prediction(measured_case({"timeline": FULL}))
    change = change_of(Finding(RULES["step-outliers"], "fires", (), 0.04, ()), prediction)
    assert change is not None and change.edits == ()
    assert prediction.recorded_ms - prediction.step_ms([change]) == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("days", "said"), [(0.5, None), (2, "the times in this trace are those of no recording")]
)
def test_steps_of_days_are_not_replayed(days: float, said: str | None) -> None:
    step_us = int(days * 24 * 3600e6)
    prediction = Prediction(
        measured_case({"timeline": f"main 0 {step_us} step ProfilerStep#1\nmain 10 20 op aten::mm"})
    )
    missing = prediction.missing
    assert (missing and missing.reason) == said


def test_a_cost_known_in_ms_only_comes_off_the_gpu_s_work_where_its_row_is_busy() -> None:
    # The GPU waits 40 of 100 in a collective for other ranks; 20 of them are known to go.
    waits = repeated(
        """
        main 0   5  runtime cudaLaunchKernel           #100
        gpu  10  50 kernel  gemm                       #100
        main 5   5  runtime cudaLaunchKernel           #200
        gpu  60  40 kernel  ncclDevKernel_AllReduce    #200
        main 10  90 runtime cudaStreamSynchronize      #300
        """,
        100,
    )
    prediction = Prediction(measured_case({"timeline": waits}))
    rule = replace(RULES["rotating-late-ranks"], saving=Saving("remove", "step"))
    change = change_of(Finding(rule, "fires", (), 0.02, (), row="exposed_communication"), prediction)
    assert change is not None
    assert 1000 * (prediction.recorded_ms - prediction.step_ms([change])) == pytest.approx(20, abs=0.5)


def test_a_trace_by_others_is_predicted_with_the_workers_that_are_advised() -> None:
    # 300 of 305 us load. Nothing tells how many cores there are: two workers are advised, and need 150 a batch.
    loads = "annotation enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    lines = [
        f"main {305 * number} 305 step ProfilerStep#{number}\nmain {305 * number} 300 {loads}\n"
        f"main {305 * number + 300} 5 op aten::mm"
        for number in range(6)
    ]
    prediction = Prediction(measured_case({"timeline": "\n".join(lines)}))
    change = change_of(Finding(RULES["input-wait-no-workers"], "fires", (), 0.3, ()), prediction)
    assert change is not None and change.workers == 2
    assert 1000 * prediction.step_ms([change]) == pytest.approx(150)


# ---- which steps are replayed


@pytest.mark.parametrize("loads_first", [False, True])
def test_a_single_replayed_step_holds_what_every_second_one_waits(
    loads_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Steps of 100 us, every second one waits 60 more for its batch: 130 on average, 30 of them the wait.
    monkeypatch.setattr("diagnose.predict.prediction.MOST_EVENTS", 1)
    lines, at = [], 0
    for number in range(4):
        waits = 60 * ((number % 2 == 0) is loads_first)
        lines += [f"main {at} {100 + waits} step ProfilerStep#{number}", f"main {at} 40 op aten::mm"]
        if waits:
            lines.append(f"main {at + 100} 60 annotation enumerate(DataLoader)#_SingleProcessDataLoaderIter")
        at += 100 + waits
    prediction = Prediction(measured_case({"timeline": "\n".join(lines)}))
    view = prediction.measured.timeline
    assert view is not None
    without = Edit(host=view.ledger.rows["input_wait"], lane=view.trace.training_thread)
    assert 1000 * prediction.recorded_ms == pytest.approx(130)
    assert 1000 * prediction.step_ms([Change((without,))]) == pytest.approx(100)


# ---- what a saving may be at most


def test_a_saving_is_never_more_than_what_is_at_stake(monkeypatch: pytest.MonkeyPatch) -> None:
    # 30 of 200 us, all of it Python's: the odds are 30 to 170, and twice or half as much at the ends. No more
    # than that is at stake: 200 × 60 ÷ 230 and 200 × 15 ÷ 185.
    monkeypatch.setattr("diagnose.predict.widths.widths", lambda: {"whole": Width(0.5, 2.0)})
    python = "\n".join(
        f"main {200 * i} 200 step ProfilerStep#{i}\nmain {200 * i + 60} 120 op aten::add_" for i in range(3)
    )
    prediction = Prediction(measured_case({"timeline": python}))
    saving = saving_of(Finding(RULES["sleep-in-loop"], "fires", (), 0.03, (), row="python"), prediction)
    assert saving is not None
    assert 1000 * saving.low_ms == pytest.approx(200 * 15 / 185)
    assert 1000 * saving.high_ms == 1000 * saving.at_most_ms == pytest.approx(200 * 60 / 230)


@pytest.mark.parametrize(("formats", "most_us"), [(("fp32", "tf32"), 105.0), (None, 121.0)])
def test_a_kernel_gives_back_no_more_than_its_time(formats: tuple[str, str] | None, most_us: float) -> None:
    # Of the gemm's 150 us another format leaves 45 at best. Without it the other kernel begins with its
    # launch, 10 after the call at 35 to 40, 121 earlier. No more than that, however far other predictions
    # were from what was measured.
    prediction = Prediction(measured_case({"timeline": FULL}))
    retimed = Saving("retime", "step", 0.5, (0.3, 0.8), formats=formats)
    changed = replace(RULES["fp32-matmul"], saving=retimed)
    saving = saving_of(Finding(changed, "fires", (), 0.15, ()), prediction)
    assert saving is not None
    assert 1000 * saving.predicted_ms == pytest.approx(75)
    assert 1000 * saving.high_ms == pytest.approx(most_us)
    # Beside other fixes another format may give back all of the 150.
    assert saving.at_most_ms == pytest.approx(0.15) if formats else saving.at_most_ms >= saving.high_ms


def test_less_work_for_the_host_leaves_the_gpu_s() -> None:
    # The host's 75 us behind the read and what launches are said to take 0.15 ms; the GPU needs 101.5 of 200.
    prediction = Prediction(measured_case({"timeline": READ}))
    saving = saving_of(Finding(RULES["sleep-in-loop"], "fires", (), 0.15, (), row="python"), prediction)
    assert saving is not None
    assert 1000 * saving.high_ms <= 1000 * saving.at_most_ms == pytest.approx(98.5)


def test_without_a_wait_more_is_gained_than_the_wait_took() -> None:
    # The host needs 105 a step then (above), 95 less, whatever the rule says that the wait takes.
    prediction = Prediction(measured_case({"timeline": READ}))
    changed = replace(RULES["host-sync"], saving=Saving("unblock", "step", 1.0, (1.0, 1.0)))
    saving = saving_of(Finding(changed, "fires", (), 0.05, ()), prediction)
    assert saving is not None
    assert 1000 * saving.predicted_ms == pytest.approx(95)
    assert saving.at_most_ms >= saving.predicted_ms


def test_what_arithmetic_leaves_is_no_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two replays that last alike differ by a rounding: a part in 1e14 of the step. A part in 1e6 is a gain."""
    measured = measured_case({"timeline": FULL})
    for part, is_gain in ((1e-14, False), (1e-6, True)):
        monkeypatch.setattr(
            Replay, "step_ns", lambda self, edits=(), part=part: 1e8 * (1 - part * bool(edits))
        )
        assert (Prediction(measured).host_ms(NO_INTERVALS) > 0) == is_gain
