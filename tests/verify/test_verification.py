"""How fixes are tried, with trials that are made up: what each fix does to steps, losses and data is
planted.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnose.document.model import Predicted
from diagnose.errors import DiagnoseError
from diagnose.fixes.all import Spec
from diagnose.report.verification import verdict
from diagnose.run.settings import Target
from diagnose.verify import statistics
from diagnose.verify.accuracy import pairs_of
from diagnose.verify.candidates import Candidate
from diagnose.verify.deadline import Deadline
from diagnose.verify.paired import Arm, TrialRunner
from diagnose.verify.store import Store
from diagnose.verify.trial import Job, TrialSettings
from diagnose.verify.verification import Verification, Verifier, VerifyOptions
from tests.report import documents
from tests.report.documents import change

DOCUMENT = documents.empty()
change(DOCUMENT.run, wall_s=5.0)
change(DOCUMENT.steps, plain_ms={"median": 10.0, "mad": 0.1})


class Machine:
    """Runs of a script whose steps take 10 ms give or take half a percent (`noise`); `effects`
    are what fixes make of it, by name.
    """

    def __init__(
        self, steps_there: int = 10_000, own_losses: str = "same", noise: float = 0.005, **effects: Any
    ) -> None:
        self.steps_there, self.own_losses, self.noise, self.effects = steps_there, own_losses, noise, effects
        self.random = random.Random(0)
        self.runs: list[list[str]] = []
        self.interrupt_after: int | None = None
        self.steps_end_with = "optimizer"

    def __call__(
        self, job: Job, specs: Sequence[Spec], settings: TrialSettings, folder: Path
    ) -> dict[str, Any]:
        self.runs.append([spec["name"] for spec in specs])
        if len(self.runs) - 1 == self.interrupt_after:
            return self.trial(0, 10.0, settings) | {"ended": "interrupted"}
        effects = [self.effects.get(spec["name"], {}) for spec in specs]
        step_ms = 10.0 * self.random.lognormvariate(0, self.noise)
        for spec, effect in zip(specs, effects, strict=True):
            factor = effect.get("factor", 1.0)
            if isinstance(factor, dict):  # by the number in an argument
                argument, by_number = next(iter(factor.items()))
                factor = by_number[spec["arguments"][argument]]
            step_ms *= factor
        trial = self.trial(min(settings.steps, self.steps_there), step_ms, settings)
        for effect in effects:
            trial |= effect.get("trial", {})
            if effect.get("other_data") and not (settings.seed_batches and effect["other_data"] == "random"):
                trial |= {"batch_hashes": ["z"]}
        if ahead := max((effect.get("ahead", 0) for effect in effects), default=0):
            # ready before the first step: so many steps take a tenth, and the run is longer
            more = max(0, ahead + 1 - settings.untimed_steps)
            steps = [step_ms / 10] * ahead + [step_ms] * (settings.steps + more - ahead - 1)
            trial |= {
                "fetched_ahead": ahead,
                "tick_ns": [int(sum(steps[:end]) * 1e6) for end in range(len(steps) + 1)],
            }
        trial["interventions"] = [
            {"held": effect.get("held", 1), "why_not": effect.get("why_not", "")} for effect in effects
        ]
        return trial

    def trial(self, steps: int, step_ms: float, settings: TrialSettings) -> dict[str, Any]:
        losses = [1.0, 0.5, 0.25] if self.own_losses == "same" else [self.random.random()]
        return {
            "clock": self.steps_end_with,
            "tick_ns": [int(number * step_ms * 1e6) for number in range(steps)],
            "device_ms": None,
            "batch_hashes": ["a", "b"],
            "batch_size": 32,
            "losses": losses,
            "outputs": None,
            "interventions": [],
            "peak_resident_bytes": 1e8,
            **{
                "ended": "stopped" if steps >= settings.steps else "finished",
                "exit_code": 0,
                "signal": None,
                "wall_s": 1.0,
                "gpu_state": None,
                "others_busy_share": 0.0,
            },
        }


def fix(name: str, safety: str = "exact", why_not: str = "", **arguments: Any) -> Candidate:
    return Candidate(f"rule-{name}", f"Fix {name}", name, arguments, (), safety, why_not)


def prove(folder: Path, machine: Machine, *fixes: Candidate, **wanted: Any) -> Verification:
    saved: list[dict[str, Any]] = []
    previous = wanted.pop("previous", ())
    deadline = Deadline.after(wanted.pop("budget_s", 600.0))
    job = Job(Target("train.py", False, ()), str(folder), str(folder), sys.executable, "cpu")
    prover = Verifier(
        job,
        DOCUMENT,
        folder,
        VerifyOptions(**wanted),
        deadline,
        lambda label: None,
        lambda proof: saved.append(copy.deepcopy(proof)),
        previous,
        machine,
    )
    proof = prover.prove(fixes)
    assert saved[-1] == proof
    return proof


@pytest.mark.parametrize(("factor", "said"), [(0.8, "faster"), (1.0, "no_change"), (1.3, "slower")])
def test_what_a_fix_does_to_the_step_is_told(tmp_path: Path, factor: float, said: str) -> None:
    tried = prove(tmp_path, Machine(gc_freeze={"factor": factor}), fix("gc_freeze")).tried[0]
    assert (tried.state, tried.verdict) == ("measured", said)
    assert tried.change is not None and tried.results is not None
    assert tried.change.change == pytest.approx(factor - 1, abs=0.02)
    assert tried.change.saved_ms[1] == pytest.approx(10 * (1 - factor), abs=0.2)
    assert tried.results.agreement == "same"
    # 0.5 s are 50 steps, at most 20, untimed; 2 s are 200 steps: 220, from the 22nd on
    assert (tried.step_from, tried.step_to) == (21, 220)


def test_a_fix_that_slows_is_called_slower(tmp_path: Path) -> None:
    """Worker processes that have nothing to do but hand over: several times the step."""
    machine, precision = Machine(dataloader={"factor": 5.0}), 2.0
    bench = TrialRunner(Store(tmp_path), TrialSettings(150, 20, 1), lambda label: None, machine)
    job = Job(Target("train.py", False, ()), str(tmp_path), str(tmp_path), sys.executable, "cpu")
    workers: Spec = {"name": "dataloader", "arguments": {"num_workers": 1}, "sites": []}
    outcome = bench.compare_arms(Arm(job), Arm(job, (workers,)), precision, Deadline.never(), "")
    assert outcome is not None and outcome.comparison.change == pytest.approx(4.0, abs=0.1)
    assert statistics.verdict(outcome.comparison, precision) == "slower"


@pytest.mark.parametrize("noise", [0.005, 0.1])
def test_half_a_step_less_is_faster_after_an_interruption_as_well(tmp_path: Path, noise: float) -> None:
    """A batch of four items takes 16 ms and a bit; two workers bring one every 8 ms and a bit: half
    of the step, or somewhat less.
    """
    machine = Machine(noise=noise, dataloader={"factor": 0.55})
    machine.interrupt_after = 5
    assert prove(tmp_path, machine, fix("dataloader"), precision=0.2).interrupted
    machine.interrupt_after = None
    tried = prove(tmp_path, machine, fix("dataloader"), precision=0.2).tried[0]
    assert tried.verdict == "faster" and tried.change is not None and -0.6 < tried.change.change < -0.3
    assert tried.results is not None and tried.results.agreement == "same"
    assert "faster by" in verdict(tried)


def test_runs_go_in_the_order_a_b_b_a(tmp_path: Path) -> None:
    machine = Machine(gc_freeze={"factor": 0.5})
    prove(tmp_path, machine, fix("gc_freeze"))
    b = ["gc_freeze"]
    # itself twice, a check, then the duel
    assert machine.runs[:11] == [[], [], b, [], b, b, [], [], b, b, []]


def test_a_fix_that_never_took_hold_is_not_timed(tmp_path: Path) -> None:
    machine = Machine(zero_grad={"held": 0, "why_not": "It sets to None already."})
    tried = prove(tmp_path, machine, fix("zero_grad")).tried[0]
    assert (tried.state, tried.verdict, tried.why) == ("not_held", None, "It sets to None already.")
    assert len(machine.runs) == 3


def test_a_fix_that_breaks_the_script_says_how(tmp_path: Path) -> None:
    broken = {"ended": "crashed", "exit_code": 1, "tick_ns": []}
    tried = prove(tmp_path, Machine(compile={"trial": broken}), fix("compile")).tried[0]
    assert (tried.state, tried.why) == ("failed", "it ended with exit code 1")


@pytest.mark.parametrize(
    ("safety", "losses", "said"),
    [("exact", [1.0, 0.6, 0.2], "changes_result"), ("numerics", [1.0, 0.501, 0.25], "faster")],
)
def test_losses_are_compared(tmp_path: Path, safety: str, losses: list[float], said: str) -> None:
    tried = prove(
        tmp_path, Machine(optimizer={"factor": 0.5, "trial": {"losses": losses}}), fix("optimizer", safety)
    ).tried[0]
    assert tried.verdict == said


def test_a_script_that_differs_from_run_to_run_is_found_out(tmp_path: Path) -> None:
    proof = prove(tmp_path, Machine(own_losses="random"), fix("gc_freeze"))
    assert proof.same_losses is False
    assert proof.tried[0].results is not None and proof.tried[0].results.agreement == "unsteady"


def test_batches_are_seeded_where_items_draw_random_numbers(tmp_path: Path) -> None:
    proof = prove(tmp_path, Machine(dataloader={"other_data": "random", "factor": 0.5}), fix("dataloader"))
    assert proof.seeded_batches
    assert proof.tried[0].results is not None and proof.tried[0].results.agreement == "same"
    assert proof.tried[0].verdict == "faster"


def test_data_that_a_fix_really_changes_are_told(tmp_path: Path) -> None:
    tried = prove(
        tmp_path, Machine(dataloader={"other_data": "always", "factor": 0.5}), fix("dataloader")
    ).tried[0]
    # although the losses are the same
    assert tried.results is not None and tried.results.agreement == "other_data"
    assert tried.verdict == "changes_result"


def test_the_number_of_workers_is_searched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    factors = {1: 0.9, 2: 0.6, 4: 0.400, 8: 0.399}
    tried = prove(
        tmp_path, Machine(dataloader={"factor": {"num_workers": factors}}), fix("dataloader", num_workers=2)
    ).tried[0]
    assert tried.curve is not None and sorted(tried.curve.ms) == ["1", "2", "4", "8"]
    assert (tried.curve.knee, tried.arguments) == (4, {"num_workers": 4})
    assert tried.curve.peak_bytes == {"1": 1e8, "2": 1e8, "4": 1e8, "8": 1e8}
    assert tried.change is not None and tried.change.change == pytest.approx(-0.6, abs=0.02)


def test_a_number_that_lives_on_batches_that_were_ready_is_not_the_best(tmp_path: Path) -> None:
    """With 8 and 16 ahead half of the batches were ready before: in the long run their steps take 10 ms."""

    class Ahead(Machine):
        def __call__(
            self, job: Job, specs: Sequence[Spec], settings: TrialSettings, folder: Path
        ) -> dict[str, Any]:
            trial = super().__call__(job, specs, settings, folder)
            lives = specs and specs[0]["arguments"]["prefetch_factor"] >= 8
            return trial | ({"supply": [(110, 110, 100), (220, 220, 45)]} if lives else {})

    factors = {1: 1.0, 2: 1.0, 4: 0.8, 8: 0.5, 16: 0.5, 32: 0.5}
    machine = Ahead(dataloader={"factor": {"prefetch_factor": factors}})
    tried = prove(tmp_path, machine, fix("dataloader", prefetch_factor=4)).tried[0]
    assert tried.arguments == {"prefetch_factor": 4}
    assert tried.curve is not None and tried.curve.ms["8"] == pytest.approx(10, rel=0.05)


def test_a_searched_number_keeps_its_prediction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    predicted = Predicted(best_guess=6.0, low=5.0, high=7.0)
    workers = replace(fix("dataloader", num_workers=2), predicted_ms=predicted, predicted_of_ms=12.0)
    factors = {1: 1.4, 2: 1.3, 4: 1.2, 8: 1.19}
    proof = prove(tmp_path, Machine(dataloader={"factor": {"num_workers": factors}}), workers)
    tried = proof.tried[0]
    assert (tried.verdict, tried.predicted_ms, tried.predicted_with) == (
        "slower",
        predicted,
        {"num_workers": 2},
    )
    assert pairs_of("a", proof.tried) == []  # of two workers nothing is known but a run or two


def test_a_noisy_machine_can_still_refute_a_prediction(tmp_path: Path) -> None:
    predicted = Predicted(best_guess=5.0, low=4.5, high=6.0)
    half = replace(fix("gc_freeze"), predicted_ms=predicted, predicted_of_ms=10.0)
    tried = prove(tmp_path, Machine(noise=0.12), half).tried[0]
    assert tried.verdict == "no_such_gain"
    assert tried.change is not None and tried.change.low < 0 < tried.change.high


def test_less_processor_time_is_found_where_the_clock_tells_nothing(tmp_path: Path) -> None:
    def used(step_ms: float) -> dict[str, Any]:
        return {"work": [(tick, int(tick * step_ms * 1e6)) for tick in range(1, 300, 5)]}

    machine = Machine(noise=0.3, gc_freeze={"factor": 0.97, "trial": used(8.0)})
    own = machine.trial
    machine.trial = lambda *given: own(*given) | used(10.0)  # type: ignore[method-assign]
    tried = prove(tmp_path, machine, fix("gc_freeze")).tried[0]
    assert tried.verdict == "less_work"
    assert tried.work is not None and tried.work.change == pytest.approx(-0.2)


def test_another_batch_size_is_compared_by_the_sample(tmp_path: Path) -> None:
    """A step of 64 samples that takes 12 ms is 6 ms for 32, which took 10."""
    machine = Machine(dataloader={"factor": 1.2, "trial": {"batch_size": 64}})
    tried = prove(tmp_path, machine, fix("dataloader", batch_size=64, persistent_workers=True)).tried[0]
    assert tried.change is not None and tried.change.change == pytest.approx(-0.4, abs=0.02)
    assert tried.batch_sizes == (32, 64)


def test_a_step_that_lives_on_batches_that_were_ready_is_no_gain(tmp_path: Path) -> None:
    """It takes half as long for as long as there are any: half of its batches are not fetched meanwhile."""
    lives = {"factor": 0.5, "trial": {"supply": [(110, 110, 100), (220, 220, 45)]}}
    tried = prove(tmp_path, Machine(dataloader=lives), fix("dataloader", prefetch_factor=16)).tried[0]
    assert tried.verdict == "no_change"


def test_a_batch_size_of_which_the_script_has_too_few_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 960 samples there are 30 batches of 32, 15 of 64 and 7 of 128. Of 30 steps the last is left out, and
    the first third of the others untimed: 9 and 5 more are needed.
    """

    class Samples(Machine):
        def __call__(
            self, job: Job, specs: Sequence[Spec], settings: TrialSettings, folder: Path
        ) -> dict[str, Any]:
            batch_size = specs[0]["arguments"]["batch_size"] if specs else 32
            self.steps_there = 960 // batch_size
            return super().__call__(job, specs, settings, folder) | {"batch_size": batch_size}

    tried = prove(tmp_path / "fits", Samples(), fix("dataloader", batch_size=64)).tried[0]
    assert tried.curve is not None and sorted(tried.curve.ms) == ["32", "64"]
    assert tried.state == "measured"
    tried = prove(tmp_path / "too few", Samples(), fix("dataloader", batch_size=128)).tried[0]
    assert (tried.state, tried.why) == (
        "not_comparable",
        "the script ends after 7 steps, too few to compare runs",
    )


@pytest.mark.parametrize(("ahead", "untimed"), [(8, 20), (64, 65)])
def test_batches_that_were_ready_before_the_first_step_are_no_gain(
    tmp_path: Path, ahead: int, untimed: int
) -> None:
    """A run has 200 timed steps after 20: with 64 ready batches the first 44 of them would be a tenth."""
    tried = prove(
        tmp_path, Machine(dataloader={"ahead": ahead}), fix("dataloader", prefetch_factor=16)
    ).tried[0]
    assert tried.verdict == "no_change"
    assert tried.step_from is not None and tried.step_from > untimed and tried.step_to == untimed + 200


def test_what_is_faster_is_measured_together(tmp_path: Path) -> None:
    machine = Machine(gc_freeze={"factor": 0.8}, zero_grad={"factor": 0.9}, compile={"factor": 1.0})
    proof = prove(
        tmp_path,
        machine,
        fix("gc_freeze"),
        fix("zero_grad"),
        fix("compile"),
        fix("threads", why_not="not allowed"),
    )
    assert [one.verdict for one in proof.tried] == ["faster", "faster", "no_change", None]
    assert (proof.tried[3].state, proof.tried[3].why) == ("not_tried", "not allowed")
    assert proof.together is not None and proof.together.verdict == "faster"
    # 0.8 × 0.9
    assert proof.together.change is not None and proof.together.change.change == pytest.approx(
        -0.28, abs=0.02
    )
    assert machine.runs[-2:] in ([[], ["gc_freeze", "zero_grad"]], [["gc_freeze", "zero_grad"], []])


def test_an_interruption_keeps_what_was_run_and_the_next_time_goes_on(tmp_path: Path) -> None:
    machine = Machine(gc_freeze={"factor": 0.8})
    machine.interrupt_after = 7
    proof = prove(tmp_path, machine, fix("gc_freeze"))
    assert proof.interrupted and proof.tried == []
    machine.interrupt_after = None
    proof = prove(tmp_path, machine, fix("gc_freeze"))
    assert not proof.interrupted and proof.tried[0].verdict == "faster"
    # 7 were kept: two of the script, the check, four of the duel, which are two pairs; the
    # eighth was lost, and four are to come
    assert len(machine.runs) == 8 + 4
    assert prove(tmp_path, machine, fix("gc_freeze")).runs == 0  # nothing is left to run
    assert prove(tmp_path, machine, fix("gc_freeze"), fresh=True).runs == 11


def test_a_fix_for_which_no_time_is_left_says_so(tmp_path: Path) -> None:
    tried = prove(tmp_path, Machine(), fix("gc_freeze"), budget_s=1e-6).tried[0]
    assert tried.state == "no_time"
    assert verdict(tried).startswith("not measured: the budget")


def test_a_short_script_is_compared_over_what_it_has(tmp_path: Path) -> None:
    tried = prove(tmp_path, Machine(steps_there=30, gc_freeze={"factor": 0.5}), fix("gc_freeze")).tried[0]
    assert tried.verdict == "faster" and tried.step_to == 29  # its last step is left out
    with pytest.raises(DiagnoseError, match="ends after 6 steps"):
        prove(tmp_path / "other", Machine(steps_there=6), fix("gc_freeze"))


def test_what_an_earlier_verification_found_is_kept(tmp_path: Path) -> None:
    machine = Machine(gc_freeze={"factor": 0.8}, zero_grad={"factor": 0.9})
    earlier = prove(tmp_path, machine, fix("gc_freeze")).tried
    later = prove(tmp_path, machine, fix("zero_grad"), previous=earlier)
    assert [one.rule for one in later.tried] == ["rule-gc_freeze", "rule-zero_grad"]
    assert [one.rule for one in prove(tmp_path, machine, fix("gc_freeze"), previous=later.tried).tried] == [
        "rule-zero_grad",
        "rule-gc_freeze",
    ]


def test_a_run_that_fails_late_does_not_cost_what_was_measured(tmp_path: Path) -> None:
    class Failing(Machine):
        def trial(self, steps: int, step_ms: float, settings: TrialSettings) -> dict[str, Any]:
            good = super().trial(steps, step_ms, settings)
            return good if len(self.runs) <= 9 else good | {"ended": "killed", "signal": "SIGKILL"}

    machine = Failing(gc_freeze={"factor": 0.99})  # so little that four pairs are not enough
    tried = prove(tmp_path, machine, fix("gc_freeze"), precision=0.001).tried[0]
    assert tried.state == "measured" and tried.change is not None and tried.change.pairs == 3
    assert "was killed by SIGKILL" in tried.why


def test_a_crash_of_the_script_itself_is_not_blamed_on_the_fix(tmp_path: Path) -> None:
    class Failing(Machine):
        def trial(self, steps: int, step_ms: float, settings: TrialSettings) -> dict[str, Any]:
            good = super().trial(steps, step_ms, settings)
            return good if len(self.runs) != 4 else good | {"ended": "killed", "signal": "SIGKILL"}

    proof = prove(tmp_path, Failing(), fix("gc_freeze"))
    assert (proof.tried[0].state, proof.tried[0].why) == (
        "not_comparable",
        "the script failed without it as well: it was killed by SIGKILL",
    )


def test_a_fix_that_now_and_then_breaks_the_script_is_not_faster(tmp_path: Path) -> None:
    """After two runs of the script and a check come A B, B A, A B: the sixth run is the second pair's first."""

    class Failing(Machine):
        def __call__(self, *given: Any) -> dict[str, Any]:
            good = super().__call__(*given)
            return good if len(self.runs) != 6 else good | {"ended": "killed", "signal": "SIGSEGV"}

    machine = Failing(gc_freeze={"factor": 0.5})
    tried = prove(tmp_path, machine, fix("gc_freeze")).tried[0]
    assert (tried.state, tried.verdict) == ("failed", None)
    assert tried.why == "once in 2 runs it was killed by SIGSEGV"
    assert machine.runs[5:] == [["gc_freeze"], []]  # the script as it is still runs
    again = prove(tmp_path, machine, fix("gc_freeze"))
    assert (again.tried[0].state, again.runs) == ("failed", 0)


def test_steps_that_end_elsewhere_with_the_fix_are_not_compared(tmp_path: Path) -> None:
    """A whole answer of a model as it is, a part of one with the fix: of course that takes less."""
    parts = Machine(compile={"factor": 0.1, "trial": {"clock": "forward"}})
    parts.steps_end_with = "answer"
    tried = prove(tmp_path, parts, fix("compile")).tried[0]
    assert (tried.state, tried.verdict) == ("not_comparable", None)
    assert tried.why == "its steps end with the model's forward, those before with a method of the model's"
    assert verdict(tried).startswith("could not be compared: its steps end")
    assert len(parts.runs) == 3


def test_so_many_steps_are_timed_as_are_asked_for(tmp_path: Path) -> None:
    tried = prove(tmp_path, Machine(), fix("gc_freeze"), steps=15).tried[0]
    assert tried.step_from is not None and tried.step_to is not None
    assert tried.step_to - 20 == 15  # after 20 untimed ones


def test_a_script_that_fails_by_itself_is_an_error(tmp_path: Path) -> None:
    class Broken(Machine):
        def trial(self, steps: int, step_ms: float, settings: TrialSettings) -> dict[str, Any]:
            return super().trial(0, step_ms, settings) | {"ended": "crashed", "exit_code": 2}

    with pytest.raises(DiagnoseError, match="could not be run again: it ended with exit code 2"):
        prove(tmp_path, Broken(), fix("gc_freeze"))


def test_a_search_tries_each_beside_what_was_faster(tmp_path: Path) -> None:
    """Of steps of 10 ms the first leaves 8; the second is no use beside it; the third leaves 7.2 of the 8."""
    machine = Machine(gc_freeze={"factor": 0.8}, zero_grad={"factor": 1.0}, anomaly_mode_off={"factor": 0.9})
    fixes = [fix("gc_freeze"), fix("zero_grad"), fix("anomaly_mode_off")]
    proof = prove(tmp_path, machine, *fixes, search=True)
    first, _, third = proof.tried
    assert [tried.verdict for tried in proof.tried] == ["faster", "no_change", "faster"]
    assert [tried.beside for tried in proof.tried] == [[], ["rule-gc_freeze"], ["rule-gc_freeze"]]
    assert first.change and third.change
    assert first.change.before_ms == pytest.approx(10, rel=0.02)
    assert third.change.before_ms == pytest.approx(8, rel=0.02)
    assert third.change.change == pytest.approx(-0.1, abs=0.02)
    together = proof.together  # against the script as it is: 10 ms to 7.2
    assert together is not None and together.change is not None
    assert (together.rule, together.beside) == ("rule-gc_freeze, rule-anomaly_mode_off", [])
    assert together.change.change == pytest.approx(-0.28, abs=0.02)
    assert proof.searched
    assert pairs_of("run", proof.tried) == []  # nothing was predicted


def test_a_search_keeps_nothing_that_changes_results(tmp_path: Path) -> None:
    wrong = {"factor": 0.5, "trial": {"losses": [3.0, 3.0, 3.0]}}
    proof = prove(
        tmp_path,
        Machine(gc_freeze=wrong, zero_grad={"factor": 0.8}),
        fix("gc_freeze"),
        fix("zero_grad"),
        search=True,
    )
    assert [tried.verdict for tried in proof.tried] == ["changes_result", "faster"]
    assert proof.tried[1].beside == []
    assert proof.together is None
