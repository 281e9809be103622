"""What counts as a change between two runs, worked out by hand; and on recordings."""

from __future__ import annotations

import copy
import math
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from diagnose.compare.comparison import compare
from diagnose.compare.model import Comparison, Firing, Spot
from diagnose.document.model import Metric
from diagnose.judge.timelines import trace_from_text
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import Recording
from diagnose.measure.spread import row_noise_ms
from diagnose.pipeline import analyse
from diagnose.run.child.steps.step_clock import StepClock

from .report.documents import (
    Document,
    change,
    changed,
    culprit,
    empty,
    evidence,
    finding,
    healthy,
    kernel,
    ledger_row,
    line,
    operator,
    sick,
)

SAMPLES = Path(__file__).parents[1] / "sample_traces"


def run(
    *steps_ms: float,
    rows: dict[str, float] | None = None,
    findings: list[dict[str, Any]] | None = None,
    **metrics: Any,
) -> Document:
    """A run with these plain steps; rows by their share of the step, each known to
    the hundredth of itself, of 4 steps.
    """
    document = sick()
    change(document.steps, plain_series_ms=list(steps_ms), timeline_series_ms=list(steps_ms), complete=4)
    shares = rows or {"forward": 1.0}
    document.ledger = [
        changed(ledger_row(row, row, "", 10 * share, share), noise_ms=0.1 * share)
        for row, share in shares.items()
    ]
    document.findings = findings or []
    document.metrics = {name: Metric(value=value, unit="") for name, value in metrics.items()}
    return document


def by(comparison: Comparison, list_name: str, key: str) -> dict[str, Any]:
    return {getattr(one, key): one for one in getattr(comparison, list_name)}


# ---- the step


def test_a_change_beyond_the_floor_counts() -> None:
    # Steps without any spread: the noise is a twentieth of the longer step.
    found = compare(run(10, 10, 10), run(9, 9, 9))
    assert found.verdict == "faster"
    assert structs.asdict(found.step) == {
        "a_ms": 10.0,
        "b_ms": 9.0,
        "change_ms": -1.0,
        "change_share": pytest.approx(-0.1),
        "noise_ms": pytest.approx(0.5),
        "beyond_noise": True,
    }
    assert compare(run(9, 9, 9), run(10, 10, 10)).verdict == "slower"
    assert compare(run(10, 10, 10), run(9.6, 9.6, 9.6)).verdict == "no_change"


def test_steps_that_differ_within_a_run_hide_changes_between_runs() -> None:
    # Deviations from 10: 1, 0, 1 → MAD 1, standard deviation 1.4826 in each run; floor 0.05 × 11.
    found = compare(run(9, 10, 11), run(10, 11, 12))
    assert found.step.noise_ms == pytest.approx(math.sqrt(2 * 1.4826**2 + 0.55**2))
    assert not found.step.beyond_noise
    assert found.verdict == "no_change"  # 2.2 of 11 are just below a fifth
    assert compare(run(8, 10, 12), run(9, 11, 13)).verdict == "too_noisy"


def test_half_of_what_other_processes_used_may_be_their_doing() -> None:
    found = compare(run(10, 10, 10), run(12, 12, 12, others_busy_share=0.4))
    assert found.step.noise_ms == pytest.approx(math.sqrt((0.5 * 0.4 * 12) ** 2 + 0.6**2))
    assert found.verdict == "too_noisy"
    assert (found.a.others_share, found.b.others_share) == (0.0, 0.4)


def test_of_two_steps_any_may_be_a_slow_one() -> None:
    # Half of each step: √(5² + 4² + 0.5²) = 6.4.
    found = compare(run(10, 10), run(8, 8))
    assert found.step.noise_ms == pytest.approx(math.sqrt(25 + 16 + 0.25))
    assert found.verdict == "too_noisy"
    assert compare(run(10, 10), run(2, 2)).verdict == "faster"


def test_more_slow_steps_make_a_run_slower_on_average() -> None:
    # A typical step stays 10, the mean goes from 10 to 13.3: twice its standard error, 2 × 4.92 ÷ √12, is 2.84.
    found = compare(run(*[10] * 10), run(*[10] * 8, *[20] * 4))
    deviation = math.sqrt((8 * (10 / 3) ** 2 + 4 * (20 / 3) ** 2) / 11)
    assert not found.step.beyond_noise
    assert found.average.noise_ms == pytest.approx(math.sqrt((2 * deviation / math.sqrt(12)) ** 2 + 0.5**2))
    assert found.verdict == "slower"
    # one slow step may be chance
    assert compare(run(*[10] * 10), run(*[10] * 9, 30)).verdict == "no_change"


def test_the_step_compared_is_the_one_of_the_reports() -> None:
    # 9, 10 and 14 are alike enough to be typical: 11 on average, as in the report; 30 is not.
    document = run(9, 10, 14, 30)
    document.steps.typical_ms = 11.0
    assert compare(document, run(9, 10, 14, 30)).step.change_ms == 0
    assert compare(document, document).a.step_ms == 11


def test_a_run_is_no_different_from_itself_however_noisy() -> None:
    noisy = run(5, 10, 20, others_busy_share=0.9)
    assert compare(noisy, noisy).verdict == "no_change"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_is_reported_where_nothing_changed(seed: int) -> None:
    """Steps jitter by 3 % each, and the whole run by 1 %."""
    chance = random.Random(seed)

    def recorded() -> Document:
        machine = chance.gauss(1, 0.01)
        shares = {"input_wait": 0.2, "forward": 0.3, "backward": 0.5}
        document = run(*(10 * machine * chance.gauss(1, 0.03) for _ in range(20)), rows=shares)
        for row in document.ledger:
            row.share *= chance.gauss(1, 0.01)
        change(document, lines=[line(40, "y = model(x)", 3 * chance.gauss(1, 0.1), 3.0, 0.3)])
        change(document, operators=[operator("aten::mm", 3 * chance.gauss(1, 0.1), 1)])
        change(document, findings=[finding("input-wait-no-workers", ms_per_step=2 * chance.gauss(1, 0.03))])
        return document

    found = compare(recorded(), recorded())
    assert found.verdict == "no_change"
    changed = [*found.ledger, *found.findings, *found.lines, *found.operators]
    assert [one for one in changed if one.beyond_noise] == []


# ---- what cannot be compared, and what else differs


def test_steps_of_another_kind_are_not_compared() -> None:
    other = sick()
    other.steps.clock = StepClock.FORWARD
    assert (
        compare(sick(), other).why
        == "a step of A ends with the optimizer's step, one of B with the model's forward"
    )
    assert compare(sick(), healthy()).why.startswith("A ran on cpu, B on cuda")
    found = compare(empty(), sick())
    assert (found.verdict, found.why) == ("not_comparable", "no complete step was recorded in A")
    assert (found.step, found.ledger, found.a.step_ms) == (None, [], None)


@pytest.mark.parametrize("clock", [clock for clock in StepClock if clock is not StepClock.OPTIMIZER])
def test_every_clock_can_be_set_against_another(clock: StepClock) -> None:
    """A program that records itself ends steps with its own `step()`, a launched one with the optimizer's."""
    other = sick()
    other.steps.clock = clock
    told = compare(sick(), other).why
    assert told == (
        ""
        if clock is StepClock.TRACE
        else f"a step of A ends with the optimizer's step, one of B with {clock.event}"
    )


def test_a_whole_trace_is_no_step() -> None:
    whole, marked = sick(), sick()
    change(whole.steps, clock=StepClock.TRACE, step_source="whole trace")
    assert compare(marked, whole).why == "nothing marks the steps of B: its whole recording counts as one"
    assert compare(whole, copy.deepcopy(whole)).verdict == "no_change"


def test_what_matters_comes_first() -> None:
    a, b = run(10, 10, 10, forward_batch_size=32.0), run(10, 10, 10, forward_batch_size=64.0)
    b.run.environment |= {"python": "3.12.1", "torch": "2.14.0"}
    del b.run.environment["OMP_NUM_THREADS"]
    change(b.run, target="other.py")
    assert [(one.what, one.a, one.b, one.matters) for one in compare(a, b).differences] == [
        ("samples in a batch", "32", "64", True),
        ("torch", "2.13.0", "2.14.0", True),
        ("python", "3.11.7", "3.12.1", False),
        ("OMP_NUM_THREADS", "2", None, False),
        ("script", "train.py", "other.py", False),
    ]
    b.run.recorded_by_us = False  # what a trace does not tell is no difference
    assert "OMP_NUM_THREADS" not in by(compare(a, b), "differences", "what")


def test_without_plain_steps_in_both_recorded_ones_are_compared() -> None:
    a, b = run(10, 10, 10), run(12, 12, 12)
    b.steps.plain_series_ms = []
    change(a.steps, timeline_series_ms=[15, 15, 15])
    found = compare(a, b)
    assert (found.basis, found.step.a_ms, found.step.b_ms) == ("recorded", 15.0, 12.0)
    assert found.ledger[0].a_ms == 15.0  # the ledger adds up to the step compared


# ---- where the change lies


def test_rows_have_noise_of_their_own() -> None:
    a = run(10, 10, 10, rows={"forward": 0.6, "input_wait": 0.4})
    b = run(7, 7, 7, rows={"forward": 0.8, "python": 0.2})
    rows = by(compare(a, b), "ledger", "row")
    # A row of a single step strays by 1 % × √4 of itself: 0.12 and 0.112 of forward; the floor is 0.5.
    assert (rows["forward"].a_ms, rows["forward"].b_ms) == (pytest.approx(6.0), pytest.approx(5.6))
    assert rows["forward"].noise_ms == pytest.approx(math.sqrt(0.12**2 + 0.112**2 + 0.5**2))
    assert {row: one.beyond_noise for row, one in rows.items()} == {
        "forward": False,
        "input_wait": True,
        "python": True,
    }
    assert rows["python"].change_share is None
    assert sum(one.a_ms for one in rows.values()) == pytest.approx(10)
    a.ledger[0].noise_ms = None  # too few steps, or a report of an older version: half of the row
    assert by(compare(a, b), "ledger", "row")["forward"].noise_ms == pytest.approx(
        math.sqrt(3**2 + 0.112**2 + 0.5**2)
    )


def waits(value: float, *, fires: bool = True) -> dict[str, Any]:
    shown = [evidence("input_wait_share", value, ">=", 0.05, "share", "")]
    state, cost = ("fires", 10 * value) if fires else ("quiet", None)
    return finding(
        "waits",
        state=state,
        ms_per_step=cost,
        evidence=shown,
        culprits=[culprit(41, "for x in loader:", 1, 1)] if fires else [],
    )


@pytest.mark.parametrize(
    ("a", "b", "state"),
    [
        (waits(0.3), waits(0.01, fires=False), "gone"),
        (waits(0.01, fires=False), waits(0.3), "new"),
        (waits(0.3), waits(0.2), "remains"),
        (waits(0.06), waits(0.04, fires=False), "at_threshold"),  # they differ by less than the floor
        (
            waits(0.3),
            finding("waits", state="abstains", abstains_for={"reason": "no facts", "option": ""}),
            "unknown_now",
        ),
        (finding("waits", state="error", error="ValueError"), waits(0.3), "unknown_before"),
        (waits(0.3), None, "unknown_now"),
    ],
)
def test_what_became_of_a_finding(a: dict[str, Any], b: dict[str, Any] | None, state: str) -> None:
    found = compare(run(10, 10, 10, findings=[a]), run(10, 10, 10, findings=[b] if b else [])).findings
    assert [(one.rule, one.state) for one in found] == [("waits", state)]
    assert bool(found[0].why) == state.startswith("unknown")


def test_a_finding_that_remains_costs_more_or_less() -> None:
    (found,) = compare(
        run(10, 10, 10, findings=[waits(0.3)]), run(10, 10, 10, findings=[waits(0.2)])
    ).findings
    assert (found.a_ms, found.b_ms, found.beyond_noise) == (3.0, 2.0, True)
    assert found.a == Firing(group="plan", where=("train.py", 41))
    (gone,) = compare(
        run(10, 10, 10, findings=[waits(0.3)]), run(10, 10, 10, findings=[waits(0.0, fires=False)])
    ).findings
    assert (gone.a_ms, gone.b_ms, gone.change_ms) == (3.0, None, None)


def test_what_is_quiet_in_both_is_not_listed() -> None:
    quiet = run(10, 10, 10, findings=[waits(0.0, fires=False)])
    assert compare(quiet, quiet).findings == []


def test_a_line_is_known_by_its_text_when_its_number_moves_and_the_script_is_renamed() -> None:
    a, b = run(10, 10, 10), run(5, 5, 5)
    change(
        a, lines=[line(41, "for x, y in loader:", 5.0, 5.0, 0.5), line(44, "loss.backward()", 4.0, 4.0, 0.4)]
    )
    b.run.target = "faster.py"
    change(
        b,
        lines=[
            changed(line(51, "for  x, y in loader:", 0.5, 0.5, 0.1), file="faster.py"),
            changed(line(54, "loss.backward()", 4.1, 4.1, 0.4), file="faster.py"),
        ],
    )
    (found,) = compare(a, b).lines
    assert (found.source, found.a, found.b) == (
        "for x, y in loader:",
        Spot(where=("train.py", 41)),
        Spot(where=("faster.py", 51)),
    )
    # The detail phase tells a line from a step or two: half of it may be noise.
    # √(2.5² + 0.25² + 0.5²) = 2.56 < 4.5
    assert found.noise_ms == pytest.approx(math.sqrt(2.5**2 + 0.25**2 + 0.5**2))


def test_operators_and_kernels_are_those_of_the_reports() -> None:
    """Not those of torch's own table, which counts all threads and the profiler's cost."""
    a, b = run(10, 10, 10), run(10, 10, 10)
    for document, share in ((a, 0.9), (b, 0.1)):
        change(document, operators=[changed(operator("aten::mm", 1, 1), share=share)], kernels=[])
        averages = {"name": "aten::mm", "calls": 1, "self_cpu_ms": 30.0, "cpu_ms": 30.0}
        change(document.key_averages, rows=[averages | {"self_device_ms": 8.0 * share}])

    def found() -> list[tuple[str, str, float, float]]:
        return [(one.name, one.on, one.a_ms, one.b_ms) for one in compare(a, b).operators]

    assert found() == [("aten::mm", "CPU", pytest.approx(9), pytest.approx(1))]
    # two number formats of one name
    kernels = [changed(kernel("gemm", 1, 1, number_format=name), share=0.4) for name in ("fp32", "bf16")]
    change(a, kernels=kernels)
    change(b, kernels=[changed(kernel("gemm", 1, 1), share=0.2)])
    change(b, operators=[])  # not recorded, which is not 0
    assert found() == [("gemm", "GPU", pytest.approx(8), pytest.approx(2))]


# ---- recordings


def test_a_row_of_the_ledger_is_as_sure_as_its_steps_agree() -> None:
    steps = "\n".join(
        f"main {start} 1000 step ProfilerStep#{number}\nmain {start} {wait} mark next@10\nmain {start + 500} "
        "100 op aten::mm"
        for number, (start, wait) in enumerate([(0, 100), (1000, 200), (2000, 300), (3000, 200)], 1)
    )
    measured = Measured(Recording(source=Path(), timeline=trace_from_text(steps)))
    # 0.1, 0.2, 0.3, 0.2 ms: s = √(0.02 ÷ 3), s ÷ √4
    assert row_noise_ms(measured, "input_wait") == pytest.approx(math.sqrt(0.02 / 3) / 2)
    assert row_noise_ms(measured, "backward") == 0.0
    few = "\n".join(steps.splitlines()[:6])
    assert (
        row_noise_ms(Measured(Recording(source=Path(), timeline=trace_from_text(few))), "input_wait") is None
    )


@pytest.mark.parametrize(
    ("case", "rule", "row"),
    [("input-wait", "input-wait-no-workers", "input_wait"), ("host-reads", "host-read-cost", "host_reads")],
)
def test_a_sick_script_against_its_healthy_twin(case: str, rule: str, row: str) -> None:
    sick_run, healthy_run = (analyse(SAMPLES / case / twin) for twin in ("sick", "healthy"))
    found = compare(sick_run, healthy_run)
    assert found.verdict == "faster"
    assert by(found, "findings", "rule")[rule].state == "gone"
    assert by(found, "ledger", "row")[row].beyond_noise
    assert sum(one.a_ms for one in found.ledger) == pytest.approx(found.step.a_ms)
    assert compare(healthy_run, sick_run).verdict == "slower"
    same = compare(sick_run, sick_run)
    assert same.verdict == "no_change"
    assert {one.state for one in same.findings} == {"remains"}
    changed = [*same.ledger, *same.findings, *same.lines, *same.operators]
    assert not any(one.beyond_noise for one in changed)
