"""What the tasks left, as tables: a document for people, one for programs, and parts of
docs/accuracy.md named after the GPU.

Needs no GPU: the folder may have been brought from elsewhere.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks import case_studies, first_light, hook_costs, verified
from benchmarks.accuracy import HEADING as RULES
from benchmarks.accuracy import Answer, answers_of, torch_answers
from benchmarks.accuracy import page as rules_page
from benchmarks.machine import in_words as machine_in_words
from benchmarks.overhead import event_costs
from benchmarks.pages import on_machine, write_part
from benchmarks.paired import in_words
from benchmarks.prediction import HEADING as PREDICTIONS
from benchmarks.prediction import Pair, pairs_part, sample_pairs
from benchmarks.record import PATTERNS, size_of, why_too_large
from benchmarks.samples import FOLDER, SAMPLES, is_recorded
from benchmarks.tables import table
from benchmarks.tasks import records
from diagnose.document.model import FixResult
from diagnose.measure.recording import load_recording
from diagnose.report.verification import verdict

MACHINE = "machine.json"
COMMAND = "make gpu-page"
COSTS, CASE_STUDIES = "# What the recorder costs", "# Case studies of real models"


def machine_of(out: Path) -> dict[str, Any]:
    """Raises OSError, ValueError where this is no folder of results."""
    return json.loads((out / MACHINE).read_text(encoding="utf-8"))


class Results:
    """A folder of results; what takes long is done once. Raises OSError, ValueError where it is none."""

    def __init__(self, out: Path) -> None:
        self.out, self.machine = out, machine_of(out)

    @cached_property
    def answers(self) -> list[Answer]:
        return answers_of(self.out)

    @cached_property
    def pairs(self) -> dict[str | None, tuple[list[Pair], list[str]]]:
        return sample_pairs(self.out)

    def saved(self, folder: str) -> list[dict[str, Any]]:
        return [
            json.loads(file.read_text(encoding="utf-8"))
            for file in sorted((self.out / folder).glob("*.json"))
        ]


def parts(results: Results) -> dict[str, str]:
    """Markdown by its heading. A part that cannot be made says so, and costs only itself."""
    makers: dict[str, Callable[[Results], str]] = {
        RULES: _rules,
        PREDICTIONS: _predictions,
        verified.HEADING: _verified,
        COSTS: _costs,
        CASE_STUDIES: _case_studies,
    }
    made = {}
    for heading, make in makers.items():
        title = on_machine(heading, results.machine["gpu"])
        try:
            made[title] = make(results)
        except Exception as error:
            made[title] = f"{title}\n\nThis part could not be made: {type(error).__name__}: {error}"
    return made


def write_tables(out: Path) -> str:
    """Write tables.md and tables.json into the folder; returns what is in tables.md."""
    results = Results(out)
    made = [
        *(part.strip() for part in parts(results).values()),
        _cost_of_diseases(out),
        first_light.page(out / "first-light"),
    ]
    text = "\n\n".join([f"Recorded on {machine_in_words(results.machine)}.", *made])
    (out / "tables.md").write_text(text + "\n", encoding="utf-8")
    (out / "tables.json").write_text(json.dumps(_numbers(results), indent=1), encoding="utf-8")
    return text


def write_page(out: Path, page: Path) -> list[str]:
    """Put the parts into the page, each in the place of its last version; returns their headings.

    Raises ValueError for a rehearsal.
    """
    results = Results(out)
    if results.machine["gpu"] is None:
        raise ValueError(
            f"{out} was recorded without a GPU: the benchmarks accuracy, prediction and verified write those "
            "parts"
        )
    made = parts(results)
    for heading, part in made.items():
        write_part(page, heading, part)
    return list(made)


def keep_recordings(out: Path, target: Path = FOLDER) -> list[str]:
    """Copy the recordings of samples that need a GPU beside their scripts, but for those
    too large to commit; a line on each.
    """
    lines = []
    for sample in [one for one in SAMPLES if one.needs == "gpu"]:
        run = out / sample.case / sample.name
        if not is_recorded(run):
            lines.append(f"{sample}: not recorded")
        elif too_large := why_too_large(size_of(run)):
            lines.append(f"{sample}: not copied: {too_large}")
        else:
            shutil.copytree(run, target / sample.case / sample.name, dirs_exist_ok=True)
            lines.append(f"{sample}: {size_of(run) // 1000} kB")
    return lines


# ---- the parts


def _rules(results: Results) -> str:
    samples = [answer.sample for answer in results.answers]
    said = torch_answers(results.out, samples)
    return rules_page(results.answers, said, results.machine["gpu"], samples).replace(
        "`python -m benchmarks accuracy --write`", f"`{COMMAND}`"
    )


def _predictions(results: Results) -> str:
    heading = on_machine(PREDICTIONS, results.machine["gpu"])
    said = (
        f"Written by `{COMMAND}` on {machine_in_words(results.machine)}: the step of the healthy twin, "
        "predicted from the recording of the sick script alone, against the plain steps of its own "
        "recording."
    )
    return "\n\n".join([heading, said, *(pairs_part(*pairs) for pairs in results.pairs.values())])


def _verified(results: Results) -> str:
    found, without = verified.told(results.saved("verified"))
    same = results.saved("unchanged")
    verdicts = Counter(one["verdict"] for one in same)
    parts = [verified.page(found, without, verdicts if same else None, results.machine, COMMAND)]
    if same:
        rows = [
            (
                one["case"],
                in_words(one),
                f"{100 * one['noise']:.1f} %" if "noise" in one else "–",
                one.get("pairs", "–"),
            )
            for one in same
        ]
        parts.append(table(("a healthy script against itself", "verdict", "noise floor", "pairs"), rows))
    if (results.out / "without-sample.json").is_file():
        tried = json.loads((results.out / "without-sample.json").read_text(encoding="utf-8"))["tried"]
        remedies = [(one["intervention"], verdict(msgspec.convert(one, FixResult))) for one in tried]
        parts += [
            "Remedies that no sample is cured by, on a script that needs none of them:",
            table(("remedy", "verdict"), remedies),
        ]
    return "\n\n".join(parts)


def _costs(results: Results) -> str:
    words = f"Written by `{COMMAND}` on {machine_in_words(results.machine)}."
    found = results.saved("costs")
    parts = [
        on_machine(COSTS, results.machine["gpu"]),
        words,
        hook_costs.page(found) if found else "Not measured yet.",
    ]
    try:
        parts.append(
            "What the profiler costs a recorded event, fitted (`python -m benchmarks "
            f"overhead`):\n\n{event_costs(results.out)}"
        )
    except ValueError as error:
        parts.append(f"What the profiler costs a recorded event cannot be told: {error}.")
    return "\n\n".join(parts)


def _case_studies(results: Results) -> str:
    words = (
        f"Written by `{COMMAND}` on {machine_in_words(results.machine)}: `sample_traces/stories/`; no rule "
        "was tuned on them."
    )
    told = [case_studies.told(study, results.out / "stories") for study in case_studies.all_case_studies()]
    return "\n\n".join([on_machine(CASE_STUDIES, results.machine["gpu"]), words, *told])


def _cost_of_diseases(out: Path) -> str:
    rows = [
        (case, f"{sick:.2f}", f"{healthy:.2f}", f"{sick / healthy:.2f}")
        for case, sick, healthy in _steps(out)
    ]
    return "# What each disease costs\n\n" + table(
        ("case", "sick, ms a step", "healthy, ms a step", "ratio"), rows
    )


def _steps(out: Path) -> list[tuple[str, float, float]]:
    found = []
    for sample in [one for one in SAMPLES if one.name == "sick"]:
        sick, healthy = (_plain_ms(out / sample.case / name) for name in ("sick", "healthy"))
        if sick and healthy:
            found.append((sample.case, sick, healthy / sample.twin_steps))
    return found


def _plain_ms(run: Path) -> float | None:
    """None if it was not recorded, or without plain steps."""
    step_ns = load_recording(run).step_ns("plain") if is_recorded(run) else ()
    return float(np.median(step_ns)) / 1e6 if len(step_ns) else None


# ---- for programs


def _numbers(results: Results) -> dict[str, Any]:
    out = results.out
    pairs = [
        asdict(pair) | {"error": pair.error, "inside": pair.inside}
        for found, _ in results.pairs.values()
        for pair in found
    ]
    return {
        "schema": 1,
        "machine": results.machine,
        "first_light": first_light.answers(out / "first-light"),
        "pieces": [asdict(record) for record in records(out)],
        "samples": [_answer(answer) for answer in results.answers],
        "steps_ms": [{"case": case, "sick": sick, "healthy": healthy} for case, sick, healthy in _steps(out)],
        "predictions": pairs,
        "verified": results.saved("verified"),
        "unchanged": results.saved("unchanged"),
        "costs": results.saved("costs"),
        "stories": [
            case_studies.numbers(study, out / "stories") for study in case_studies.all_case_studies()
        ],
        "torch_patterns": [
            str(sample) for sample in SAMPLES if (out / sample.case / sample.name / PATTERNS).is_file()
        ],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "sample": str(answer.sample),
        "planted": answer.sample.rule,
        "said": list(answer.rules),
        "true": answer.true,
        "false": answer.false,
        "where": answer.where,
        "at_its_line": answer.at_its_line,
        "self_replay_error": answer.replay_error,
    }
