"""What is to be done on a machine with a GPU, in the order of what is learned in a minute: stages of tasks.

Each leaves a file or a folder:

OUT/first-light/              answers on which all others rest
OUT/<case>/<script>/          recordings, to be copied beside the scripts
OUT/stories/<study>/          reports, plans and comparisons of the real models
OUT/verified/<case>.json      what a fix gained, then how it stands against the healthy twin
OUT/unchanged/<case>.json     a healthy script against itself
OUT/costs/<loop>.json         what the recorder costs
OUT/reference/<case>.md       whole runs of a published case, change after change
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks import case_studies, first_light, hook_costs, reference_cases
from benchmarks.paired import in_words
from benchmarks.record import (
    PATTERNS,
    keep,
    keep_patterns,
    relative_deviation,
    run_recorder,
    size_of,
    why_too_large,
)
from benchmarks.samples import SAMPLES, Sample, is_recorded
from benchmarks.tasks import Task, diagnosed, recorded
from benchmarks.verified import Verified, against_itself, against_twin, automatic, saved, verified
from diagnose.document.model import FixResult
from diagnose.measure.recording import Recording, load_recording
from diagnose.report.verification import verdict

# Guesses, before one was timed.
RECORDING_S, COSTS_S, VERIFY_S, TWIN_S, UNCHANGED_S, PATTERNS_S = 15.0, 75.0, 110.0, 100.0, 70.0, 60.0
VERIFY_BUDGET_S, TWIN_BUDGET_S, UNCHANGED_BUDGET_S = 75.0, 75.0, 50.0
STUDY_S, STUDY_COMPARISONS_S = 90.0, 200.0
REFERENCE_S, REFERENCE_ROUNDS = 200.0, 3
UNCHANGED_CASES = 8
AT_ONCE = 6  # of torch's patterns, which are not timed
# One of each kind of finding, whose effect is a matter of arithmetic: what is wrong with these is wrong with
# the tool. The host waits for a number; it launches more than it can; copies wait for pageable memory; the
# driver is asked for memory in every step; products without tensor cores; the wrong layout.
PAIRS = {
    "cuda": (
        "item-every-step",
        "short-kernels",
        "pageable-copies",
        "empty-cache",
        "fp32-matmul",
        "nchw-conv",
    ),
    "cpu": ("sleep", "input-wait", "attention", "gc-pauses", "fp64", "small-ops"),
}
VERIFIED_FIRST = {  # each by another kind of intervention, and none that compiles
    "cuda": ("fp32-matmul", "nchw-conv", "empty-cache", "single-tensor-optimizer"),
    "cpu": ("gc-pauses", "input-wait", "threads", "anomaly"),
}
# Remedies that no sample is cured by: tried on one, to see that they take hold.
WITHOUT_SAMPLE = ("expandable_segments", "launch_blocking_off", "zero_grad", "gc_freeze", "threads:count=4")
TRIED_ON = {"cuda": "single-tensor-optimizer", "cpu": "row-loop"}


def all_tasks(out: Path, device: str) -> list[Task]:
    """For "cuda"; for "cpu" the same with what shows there, to rehearse."""
    of_device = [sample for sample in SAMPLES if (sample.needs == "gpu") == (device == "cuda")]
    pairs = [sample for case in PAIRS[device] for sample in of_device if sample.case == case]
    others = [sample for sample in SAMPLES if sample.needs != "gpu"] if device == "cuda" else []
    cured = [sick for sick in automatic(device) if sick in of_device]
    first_cured = [sick for case in VERIFIED_FIRST[device] for sick in cured if sick.case == case]
    return [
        *(
            _question(question, out)
            for question in first_light.QUESTIONS
            if device == "cuda" or not question.needs_gpu
        ),
        *(_costs(kind, out) for kind in hook_costs.KINDS),
        *(_recording("pairs", sample, out) for sample in pairs),
        *(_recording("samples", sample, out) for sample in of_device if sample not in pairs),
        *(_verifying("verify", sick, out) for sick in first_cured),
        *(_unchanged(sample, out) for sample in _healthy(of_device)[:UNCHANGED_CASES]),
        *(_verifying("verify", sick, out) for sick in cured if sick not in first_cured),
        *(_twin(sick, out) for sick in cured),
        _without_sample(device, out),
        *(_patterns(case, out) for case in dict.fromkeys(sample.case for sample in of_device)),
        *(_recording("cpu-samples", sample, out) for sample in others),
        *(_verifying("cpu-verify", sick, out) for sick in automatic(device) if sick not in of_device),
        *(_reference(case, device, out / "reference") for case in reference_cases.CASES),
        *(task for study in case_studies.all_case_studies() for task in _case_study(study, out / "stories")),
    ]


# ---- first light


def _question(question: first_light.Question, out: Path) -> Task:
    return Task(
        "first-light",
        question.name,
        question.guess_s,
        lambda seconds: first_light.answered(question, out / "first-light", seconds),
    )


def folder_of(sample: Sample, out: Path) -> Path:
    return out / sample.case / sample.name


# ---- samples


def _recording(stage: str, sample: Sample, out: Path) -> Task:
    def record(seconds: float) -> str:
        with TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            run_recorder(sample, run, seconds)
            keep(run, sample, folder_of(sample, out))
            recording = load_recording(run)
            said = f"{device_events(recording)}, plain steps deviate by {relative_deviation(recording):.1%}"
        size = size_of(folder_of(sample, out))
        too_large = why_too_large(size)
        said = f"{size // 1000} kB, {said}"
        return f"{said}; not to be committed: {too_large}" if too_large else said

    return Task(stage, str(sample), RECORDING_S, record)


def device_events(recording: Recording) -> str:
    """How many the timeline holds: if there are none of a script that uses a
    GPU, all that is said of it is wrong.
    """
    timeline = recording.timeline
    return "no timeline" if timeline is None else f"{len(timeline.device)} events of the GPU"


def _patterns(case: str, out: Path) -> Task:
    """What torch's own matcher says of a case's scripts, side by side."""

    def judge(seconds: float) -> str:
        samples = [
            sample for sample in SAMPLES if sample.case == case and is_recorded(folder_of(sample, out))
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda sample: keep_patterns(sample, folder_of(sample, out)), samples))
        return (
            f"{len([sample for sample in samples if (folder_of(sample, out) / PATTERNS).is_file()])} "
            "scripts judged"
        )

    return Task("patterns", case, PATTERNS_S, judge)


# ---- published cases


def _reference(case: reference_cases.Case, device: str, out: Path) -> Task:
    def run(seconds: float) -> str:
        out.mkdir(parents=True, exist_ok=True)
        told = reference_cases.told(case, device == "cuda", REFERENCE_ROUNDS, seconds)
        (out / f"{case.name}.md").write_text(told + "\n", encoding="utf-8")
        return told.splitlines()[-1]

    return Task("reference", case.name, REFERENCE_S, run)


# ---- case studies


def _case_study(study: case_studies.CaseStudy, out: Path) -> list[Task]:
    return [
        Task(
            "stories",
            f"{study.name}/before",
            STUDY_S,
            lambda seconds: case_studies.recorded(study, "before", out, seconds),
        ),
        Task(
            "story-verify",
            study.name,
            case_studies.VERIFY_S + 40,
            lambda seconds: case_studies.verified(
                study, out, seconds, min(case_studies.VERIFY_S, max(10.0, seconds - 40))
            ),
        ),
        Task(
            "story-duels",
            study.name,
            STUDY_COMPARISONS_S,
            lambda seconds: case_studies.held(study, out, min(case_studies.COMPARISON_S, seconds / 3)),
        ),
        Task(
            "stories",
            f"{study.name}/after",
            STUDY_S,
            lambda seconds: case_studies.recorded(study, "after", out, seconds),
        ),
    ]


# ---- fixes


def _verifying(stage: str, sick: Sample, out: Path) -> Task:
    def verify(seconds: float) -> str:
        with TemporaryDirectory() as folder:
            found = verified(sick, Path(folder), min(VERIFY_BUDGET_S, seconds / 2), seconds)
        _save(saved(sick, found), out / "verified" / f"{sick.case}.json")
        return verdict(found.tried) if isinstance(found, Verified) else found

    return Task(stage, sick.case, VERIFY_S, verify)


def _twin(sick: Sample, out: Path) -> Task:
    def hold(seconds: float) -> str:
        file = out / "verified" / f"{sick.case}.json"
        known = json.loads(file.read_text(encoding="utf-8"))
        if "why_not" in known:
            return f"not verified: {known['why_not']}"
        with TemporaryDirectory() as folder:
            found = against_twin(Verified(**known), sick, Path(folder), min(TWIN_BUDGET_S, seconds / 2))
        _save(asdict(found), file)
        return found.twin_verdict

    return Task("twins", sick.case, TWIN_S, hold)


def _without_sample(device: str, out: Path) -> Task:
    """Remedies that no sample is cured by, on a sample that needs none of them:
    do they take hold, and harm nothing?
    """
    sick = next(sample for sample in SAMPLES if sample.case == TRIED_ON[device] and sample.name == "sick")

    def hold(seconds: float) -> str:
        with TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            recorded("--out", str(run), sick.script.name, cwd=sick.script.parent, seconds=seconds)
            tries = [word for fix in WITHOUT_SAMPLE for word in ("--try", fix)]
            budget = ["--budget", f"{min(2 * VERIFY_BUDGET_S, seconds / 2):.0f}s"]
            diagnosed("verify", str(run), "--quiet", *budget, *tries, cwd=sick.script.parent, seconds=seconds)
            proof = json.loads((run / "verify.json").read_text(encoding="utf-8"))
        _save(proof, out / "without-sample.json")
        tried = msgspec.convert(proof["tried"], list[FixResult])
        return "; ".join(f"{fix.intervention}: {verdict(fix)}" for fix in tried)

    return Task("remedies", sick.case, 2 * VERIFY_S, hold)


def _healthy(samples: Iterable[Sample]) -> list[Sample]:
    """Of scripts with a rule and a twin, every third: of different kinds."""
    return [sample for sample in samples if sample.name == "healthy"][::3]


def _unchanged(sample: Sample, out: Path) -> Task:
    def hold(seconds: float) -> str:
        with TemporaryDirectory() as folder:
            result = against_itself(
                sample, folder_of(sample, out), Path(folder), min(UNCHANGED_BUDGET_S, seconds / 2)
            )
        _save({"case": sample.case, **result}, out / "unchanged" / f"{sample.case}.json")
        return in_words(result)

    return Task("unchanged", sample.case, UNCHANGED_S, hold)


def _costs(kind: str, out: Path) -> Task:
    def measure(seconds: float) -> str:
        result = hook_costs.costs(kind, seconds, COSTS_S)
        _save(result, out / "costs" / f"{kind}.json")
        return f"{result['hooked_us'] / result['plain_us']:.3f} of the step with the hooks idle"

    return Task("costs", kind, COSTS_S, measure)


def _save(result: dict[str, Any], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1), encoding="utf-8")
