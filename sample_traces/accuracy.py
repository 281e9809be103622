"""How often the diagnosis of the samples is right (`make accuracy`): Markdown on stdout, with --write in docs/accuracy.md.

    python -m sample_traces.accuracy [--live] [--write] [--recordings FOLDER]

Reads the recordings beside the scripts, or those in FOLDER (as `sample_traces/gpu.py` leaves them); --live runs every script afresh.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diagnose.analyse import analyse
from sample_traces.pages import write_part
from sample_traces.record import PATTERNS, device, run_recorder
from sample_traces.samples import FOLDER, SAMPLES, Sample, is_recorded, samples_for
from sample_traces.tables import table

PAGE = FOLDER.parent / "docs" / "accuracy.md"
TARGET = {"recall": 0.95, "precision": 0.95, "first": 0.9}
# What torch's matcher reports, by its own names, as our rules; its pattern of loops over indices is switched off in torch.
RULE_OF_PATTERN = {
    "Extra CUDA Copy Pattern": "tensors-built-on-host",
    "FP32 MatMul Pattern": "fp32-matmul",
    "Optimizer Single Tensor Pattern": "optimizer-single-tensor",
    "Synchronized DataLoader Pattern": "input-wait-no-workers",
    "Gradient Set To Zero Instead of None Pattern": "gradients-zeroed",
    "Enabling Bias in Conv2d Followed By BatchNorm Pattern": "conv-bias-before-norm",
    "Matrix Multiplication Dimension Not Aligned Pattern": "dims-unaligned",
}


@dataclass(frozen=True)
class Answer:
    """What a tool said of a sample: rules, best first.

    ``where``: the place of the first rule. ``stable``: those of the rules that are stable. ``on``: what the sample was recorded on.
    """

    sample: Sample
    rules: tuple[str, ...]
    where: str | None = None
    stable: frozenset[str] = frozenset()
    abstained: frozenset[str] = frozenset()
    on: str = ""

    @property
    def true(self) -> list[str]:
        return [rule for rule in self.rules if rule in (self.sample.rule, *self.sample.also)]

    @property
    def false(self) -> list[str]:
        return [rule for rule in self.rules if rule not in (self.sample.rule, *self.sample.also)]

    @property
    def found(self) -> bool:
        return self.sample.rule in self.rules

    @property
    def first(self) -> bool:
        return self.rules[:1] == (self.sample.rule,)

    @property
    def at_its_line(self) -> bool:
        return self.first and bool(self.sample.line) and self.where == f"{self.sample.script.name}:{self.sample.line_number}"


@dataclass(frozen=True)
class Counts:
    """Per rule. ``true``, ``false``: times said rightly and wrongly; ``missed``: planted and not said; ``abstained``: could not tell."""

    true: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    abstained: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Share:
    """``part`` of ``whole``; of nothing it is unknown and meets no target."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part / self.whole:.2f} ({self.part} of {self.whole})" if self.whole else "–"

    def verdict(self, target: float) -> str:
        return "met" if self.whole and self.part / self.whole >= target else "missed"


def counts(answers: Iterable[Answer]) -> Counts:
    counted = Counts()
    for answer in answers:
        counted.true.update(answer.true)
        counted.false.update(answer.false)
        counted.missed.update([answer.sample.rule] if answer.sample.rule and not answer.found else [])
        counted.abstained.update(answer.abstained)
    return counted


def planted(answers: Iterable[Answer]) -> list[Answer]:
    return [answer for answer in answers if answer.sample.rule]


def recall(answers: Iterable[Answer]) -> Share:
    """Planted diseases that were named."""
    sick = planted(answers)
    return Share(sum(answer.found for answer in sick), len(sick))


def precision(answers: Iterable[Answer]) -> Share:
    """Things named that are true."""
    counted = counts(answers)
    return Share(counted.true.total(), counted.true.total() + counted.false.total())


def share_of_sick(answers: Iterable[Answer], is_right: Callable[[Answer], bool]) -> Share:
    sick = planted(answers)
    return Share(sum(map(is_right, sick)), len(sick))


# ---- where answers come from


def answer_of(sample: Sample, document: dict[str, Any]) -> Answer:
    fires = [one for one in document["findings"] if one["state"] == "fires"]
    environment = document["run"]["environment"]
    return Answer(
        sample,
        rules=tuple(row["rule"] for row in document["plan"]),
        where=document["plan"][0]["where"] if document["plan"] else None,
        stable=frozenset(one["rule"] for one in fires if one["status"] == "stable" and one["group"] == "plan"),
        abstained=frozenset(one["rule"] for one in document["findings"] if one["state"] == "abstains"),
        on=f"torch {environment.get('torch')}, {environment.get('gpu') or 'no GPU'}, {environment.get('cores')} cores",
    )


def answer_of_torch(sample: Sample, said: list[dict[str, Any]] | dict[str, str]) -> Answer | None:
    """None if it crashed."""
    if isinstance(said, dict):
        return None
    return Answer(sample, tuple(dict.fromkeys(RULE_OF_PATTERN.get(one["pattern"], one["pattern"]) for one in said)))


def recorded_answers(folder: Path) -> list[Answer]:
    return [answer_of(sample, analyse(run)) for sample, run in _runs(folder) if is_recorded(run)]


def live_answers() -> list[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        return [_live_answer(sample, Path(folder) / sample.case / sample.name) for sample in samples_for(device())]


def _live_answer(sample: Sample, out: Path) -> Answer:
    run_recorder(sample, out)
    return answer_of(sample, analyse(out))


def torch_answers(folder: Path) -> list[Answer | None]:
    files = [(sample, run / PATTERNS) for sample, run in _runs(folder)]
    return [answer_of_torch(sample, json.loads(file.read_text())) for sample, file in files if file.is_file()]


def _runs(folder: Path) -> list[tuple[Sample, Path]]:
    return [(sample, folder / sample.case / sample.name) for sample in SAMPLES]


# ---- the page


def page(answers: list[Answer], torch_said: list[Answer | None]) -> str:
    machines = Counter(answer.on for answer in answers)
    parts = [
        "# How often the diagnosis is right",
        "Written by `make accuracy` from the recordings of the scripts in `sample_traces/`: "
        + "; ".join(f"{count} on {on}" for on, count in machines.items())
        + ".",
        "*True*: the planted disease, or one that `expected.toml` lists as true of the script as well. *Recall*: planted diseases named.",
        "The rules were written with these scripts at hand: on scripts they have never seen they will do worse.",
        overall(answers, torch_said),
        *_section("What was said of scripts with nothing planted", healthy_table(answers)),
        *_section("By rule", rule_table(counts(answers))),
        *_section("Planted and not on top", missed_table(answers)),
        *_section("By pattern of torch, as the rule it amounts to", rule_table(_of_patterns(counts(filter(None, torch_said))))),
        *_section("Waiting for a recording", _waiting(answers)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(title: str, body: str) -> list[str]:
    return [f"## {title}", body or "None."]


def overall(answers: list[Answer], torch_said: list[Answer | None]) -> str:
    of_torch = [answer for answer in torch_said if answer is not None]
    stable = stable_on_healthy(answers)
    known = [answer for answer in of_torch if answer.sample.rule in RULE_OF_PATTERN.values()]
    first = share_of_sick(answers, lambda answer: answer.first)
    rows = [
        ("recall", recall(answers), "≥ 0.95", recall(answers).verdict(TARGET["recall"]), recall(of_torch)),
        ("precision", precision(answers), "≥ 0.95", precision(answers).verdict(TARGET["precision"]), precision(of_torch)),
        ("planted disease first", first, "≥ 0.90", first.verdict(TARGET["first"]), "does not rank"),
        ("first and at the planted line", share_of_sick(answers, lambda answer: answer.at_its_line), "", "", "does not rank"),
        ("stable rules on healthy scripts", len(stable), "0", "missed" if stable else "met", "has none"),
        ("recall among the diseases torch has a pattern for", "", "", "", recall(known)),
        ("crashed", "", "", "", Share(len(torch_said) - len(of_torch), len(torch_said))),
    ]
    return table(["", "diagnose", "target", "", "torch's `report_all_anti_patterns`"], rows)


def stable_on_healthy(answers: Iterable[Answer]) -> list[tuple[Answer, str]]:
    return [(answer, rule) for answer in answers if not answer.sample.rule for rule in answer.false if rule in answer.stable]


def healthy_table(answers: Iterable[Answer]) -> str:
    rows = [
        (
            f"`{answer.sample}`",
            _names(rule for rule in answer.false if rule in answer.stable),
            _names(rule for rule in answer.false if rule not in answer.stable),
            _names(answer.true),
        )
        for answer in answers
        if answer.rules and not answer.sample.rule
    ]
    return table(["script", "false, by stable rules", "false, by previews", "true as well"], rows) if rows else ""


def rule_table(counted: Counts) -> str:
    said = {*counted.true, *counted.false, *counted.missed}
    rows = [(f"`{rule}`", counted.true[rule], counted.false[rule], counted.missed[rule], counted.abstained[rule]) for rule in sorted(said)]
    return table(["rule", "true", "false", "planted and missed", "abstained"], rows) if rows else ""


def _of_patterns(counted: Counts) -> Counts:
    """Without the diseases that torch has no pattern for."""
    missed = Counter({rule: count for rule, count in counted.missed.items() if rule in RULE_OF_PATTERN.values()})
    return replace(counted, missed=missed)


def missed_table(answers: Iterable[Answer]) -> str:
    rows = [
        (f"`{answer.sample}`", f"`{answer.sample.rule}`", _names(answer.rules), answer.where or "–")
        for answer in planted(answers)
        if not answer.at_its_line
    ]
    return table(["script", "planted", "said, best first", "place of the first"], rows) if rows else ""


def _waiting(answers: Iterable[Answer]) -> str:
    judged = {answer.sample for answer in answers}
    waiting: dict[str, list[str]] = {}
    for sample in SAMPLES:
        if sample not in judged:
            waiting.setdefault(sample.needs.upper() or "any machine", []).append(str(sample))
    return table(["needs", "scripts"], [(needs, _names(names)) for needs, names in waiting.items()]) if waiting else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sample_traces.accuracy")
    parser.add_argument("--live", action="store_true", help="run every script afresh instead of reading its recording")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(FOLDER.parent)}")
    parser.add_argument("--recordings", type=Path, default=FOLDER, help="where the recordings are, if not beside the scripts")
    options = parser.parse_args()
    written = page(live_answers() if options.live else recorded_answers(options.recordings), torch_answers(options.recordings))
    print(written, end="")
    if options.write:
        write_part(PAGE, written.splitlines()[0], written)


if __name__ == "__main__":
    main()
