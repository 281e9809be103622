"""How often the diagnosis of the samples is right: Markdown on stdout, with --write in docs/accuracy.md.

    python -m benchmarks accuracy [--live] [--write] [--recordings FOLDER]

Reads the recordings beside the scripts, or those in FOLDER (as `gpu` leaves them); --live
runs every script afresh. Recordings of each GPU have a part of the page of their own.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.options import parser
from benchmarks.pages import on_machine, write_part
from benchmarks.record import PATTERNS, device, run_recorder
from benchmarks.samples import FOLDER, SAMPLES, Sample, advised, is_recorded, samples_for
from benchmarks.side_by_side import mapped
from benchmarks.tables import table
from diagnose.document.model import Document
from diagnose.pipeline import analyse

PAGE = ROOT / "docs" / "accuracy.md"
HEADING = "# How often the diagnosis is right"
PREDICTABLE = 0.05  # self-replay error
TARGET = {"recall": 0.95, "precision": 0.95, "first": 0.9}
# What torch's matcher reports, by its own names, as our rules; its pattern of loops
# over indices is switched off in torch.
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
    """What a tool said of a sample: rules, best first, each with its alternatives behind it.

    ``where``: the place of the first rule, or of the one behind it where the sample's easier fix
    leads. ``stable``: those of the rules that are stable. ``on``: what the sample was recorded on.
    ``gpu``: its name, None without one. ``replay_error``: how far the replay of the steps as they
    are ends from the recording, a share.
    """

    sample: Sample
    rules: tuple[str, ...]
    where: str | None = None
    stable: frozenset[str] = frozenset()
    abstained: frozenset[str] = frozenset()
    on: str = ""
    gpu: str | None = None
    replay_error: float | None = None

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
        """On top, or the alternative to the one fix that gains as much with less effort."""
        return self.rules[:1] == (self.sample.rule,) or self.rules[:2] == (
            self.sample.easier,
            self.sample.rule,
        )

    @property
    def at_its_line(self) -> bool:
        return (
            self.first
            and bool(self.sample.line)
            and self.where == f"{self.sample.script.name}:{self.sample.line_number}"
        )


@dataclass(frozen=True)
class Counts:
    """Per rule. ``true``, ``false``: times said rightly and wrongly; ``missed``: planted and not
    said; ``abstained``: could not tell.
    """

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


def answer_of(sample: Sample, document: Document) -> Answer:
    fires = [finding for finding in document.findings if finding.state == "fires"]
    rows = advised(document)
    looked_at = 1 if len(rows) > 1 and rows[0][0] == sample.easier else 0
    environment = document.run.environment
    return Answer(
        sample,
        rules=tuple(rule for rule, _ in rows),
        where=rows[looked_at][1] if rows else None,
        stable=frozenset(fire.rule for fire in fires if fire.status == "stable" and fire.group == "plan"),
        abstained=frozenset(finding.rule for finding in document.findings if finding.state == "abstains"),
        on=f"torch {environment.get('torch')}, {environment.get('gpu') or 'no GPU'}, "
        f"{environment.get('cores')} cores",
        gpu=str(environment["gpu"]) if environment.get("gpu") else None,
        replay_error=document.self_replay_error,
    )


def answer_of_torch(sample: Sample, said: list[dict[str, Any]] | dict[str, str]) -> Answer | None:
    """None if it crashed."""
    if isinstance(said, dict):
        return None
    return Answer(
        sample, tuple(dict.fromkeys(RULE_OF_PATTERN.get(one["pattern"], one["pattern"]) for one in said))
    )


def answers_of(folder: Path) -> list[Answer]:
    return mapped(_answer_at, [(sample, run) for sample, run in _runs(folder) if is_recorded(run)])


def _answer_at(recorded: tuple[Sample, Path]) -> Answer:
    sample, run = recorded
    return answer_of(sample, analyse(run))


def live_answers() -> list[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            _live_answer(sample, Path(folder) / sample.case / sample.name) for sample in samples_for(device())
        ]


def _live_answer(sample: Sample, out: Path) -> Answer:
    run_recorder(sample, out)
    return answer_of(sample, analyse(out))


def torch_answers(folder: Path, samples: Iterable[Sample]) -> list[Answer | None]:
    files = [(sample, folder / sample.case / sample.name / PATTERNS) for sample in samples]
    return [answer_of_torch(sample, json.loads(file.read_text())) for sample, file in files if file.is_file()]


def _runs(folder: Path) -> list[tuple[Sample, Path]]:
    return [(sample, folder / sample.case / sample.name) for sample in SAMPLES]


# ---- the page


def pages(answers: list[Answer], folder: Path) -> dict[str, str]:
    """A part for each GPU that recorded some of them, and one for those without: by heading."""
    by_gpu: dict[str | None, list[Answer]] = {}
    for answer in sorted(answers, key=lambda answer: answer.gpu or ""):
        by_gpu.setdefault(answer.gpu, []).append(answer)
    judged = {answer.sample for answer in answers}
    written = {}
    for gpu, mine in by_gpu.items():
        samples = [answer.sample for answer in mine]
        written[on_machine(HEADING, gpu)] = page(mine, torch_answers(folder, samples), gpu, judged)
    return written


def page(
    answers: list[Answer],
    torch_said: list[Answer | None],
    gpu: str | None = None,
    judged: Collection[Sample] = (),
) -> str:
    """The part for one GPU, or none. ``judged``: all samples that were recorded, on any machine."""
    machines = Counter(answer.on for answer in answers)
    parts = [
        on_machine(HEADING, gpu),
        "Written by `python -m benchmarks accuracy --write` from the recordings of the scripts in "
        "`sample_traces/`: " + "; ".join(f"{count} on {on}" for on, count in machines.items()) + ".",
        "*True*: the planted disease, or one that `expected.toml` lists as true of the script as well. "
        "*Recall*: planted diseases named.",
        "The rules were written with these scripts at hand: on scripts they have never seen they will do "
        "worse.",
        overall(answers, torch_said),
        *_section("What was said of scripts with nothing planted", healthy_table(answers)),
        *_section("By rule", rule_table(counts(answers))),
        *_section("Planted and not on top", missed_table(answers)),
        *_section(
            "By pattern of torch, as the rule it amounts to",
            rule_table(_of_patterns(counts(filter(None, torch_said)))),
        ),
        *_section("Replaying recorded steps as they are", replay_table(answers)),
        *([] if gpu else _section("Waiting for a recording", _waiting(judged))),
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
        (
            "precision",
            precision(answers),
            "≥ 0.95",
            precision(answers).verdict(TARGET["precision"]),
            precision(of_torch),
        ),
        ("planted disease first", first, "≥ 0.90", first.verdict(TARGET["first"]), "does not rank"),
        (
            "first and at the planted line",
            share_of_sick(answers, lambda answer: answer.at_its_line),
            "",
            "",
            "does not rank",
        ),
        ("stable rules on healthy scripts", len(stable), "0", "missed" if stable else "met", "has none"),
        ("recall among the diseases torch has a pattern for", "", "", "", recall(known)),
        ("crashed", "", "", "", Share(len(torch_said) - len(of_torch), len(torch_said))),
    ]
    return table(["", "diagnose", "target", "", "torch's `report_all_anti_patterns`"], rows)


def stable_on_healthy(answers: Iterable[Answer]) -> list[tuple[Answer, str]]:
    return [
        (answer, rule)
        for answer in answers
        if not answer.sample.rule
        for rule in answer.false
        if rule in answer.stable
    ]


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
    return (
        table(["script", "false, by stable rules", "false, by previews", "true as well"], rows)
        if rows
        else ""
    )


def rule_table(counted: Counts) -> str:
    said = {*counted.true, *counted.false, *counted.missed}
    rows = [
        (f"`{rule}`", counted.true[rule], counted.false[rule], counted.missed[rule], counted.abstained[rule])
        for rule in sorted(said)
    ]
    return table(["rule", "true", "false", "planted and missed", "abstained"], rows) if rows else ""


def _of_patterns(counted: Counts) -> Counts:
    """Without the diseases that torch has no pattern for."""
    missed = Counter(
        {rule: count for rule, count in counted.missed.items() if rule in RULE_OF_PATTERN.values()}
    )
    return replace(counted, missed=missed)


def missed_table(answers: Iterable[Answer]) -> str:
    rows = [
        (f"`{answer.sample}`", f"`{answer.sample.rule}`", _names(answer.rules), answer.where or "–")
        for answer in planted(answers)
        if not answer.at_its_line
    ]
    return table(["script", "planted", "said, best first", "place of the first"], rows) if rows else ""


def replay_table(answers: Iterable[Answer]) -> str:
    """How far the replay of each recording ends from it; above 5 % nothing is predicted."""
    errors = [
        (answer.replay_error, str(answer.sample)) for answer in answers if answer.replay_error is not None
    ]
    if not errors:
        return ""
    p50, p90 = np.percentile([error for error, _ in errors], [50, 90])
    largest, where = max(errors)
    above = sum(error > PREDICTABLE for error, _ in errors)
    row = (len(errors), f"{p50:.2%}", f"{p90:.2%}", f"{largest:.2%} (`{where}`)", above)
    return table(("recordings", "p50", "p90", "largest", "above 5 %, nothing predicted"), [row])


def _waiting(judged: Collection[Sample]) -> str:
    waiting: dict[str, list[str]] = {}
    for sample in SAMPLES:
        if sample not in judged:
            waiting.setdefault(sample.needs.upper() or "any machine", []).append(str(sample))
    return (
        table(["needs", "scripts"], [(needs, _names(names)) for needs, names in waiting.items()])
        if waiting
        else ""
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def main(arguments: Sequence[str]) -> None:
    options = parser("accuracy", __doc__)
    options.add_argument(
        "--live", action="store_true", help="run every script afresh instead of reading its recording"
    )
    options.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options.add_argument(
        "--recordings", type=Path, default=FOLDER, help="where the recordings are, if not beside the scripts"
    )
    given = options.parse_args(arguments)
    answers = live_answers() if given.live else answers_of(given.recordings)
    for heading, written in pages(answers, given.recordings).items():
        print(written, end="")
        if given.write:
            write_part(PAGE, heading, written)
