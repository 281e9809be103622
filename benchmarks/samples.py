"""What the bundled samples are: one a script, as each folder's expected.toml says."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT
from diagnose.document import text
from diagnose.document.model import Document
from diagnose.document.queries import place

FOLDER = ROOT / "sample_traces"


@dataclass(frozen=True)
class Sample:
    """``rule``: the finding expected on top of the plan; empty if nothing may fire. ``line``: the text of
    the planted line, empty where no recording can be expected to tell it. ``also``: rules that are true
    of the script as well and may stand in its plan. ``what`` describes the case; ``other_fix`` says what
    the healthy twin does instead of the advised fix, empty if it is that; ``twin_steps`` is how many
    steps of the sick script one of the twin's does the work of; ``needs`` is "gpu" where the disease
    shows on a GPU only; ``stacks`` is false where the detail phase would be too large to keep.
    ``easier``: the rule whose fix gains as much with less effort and so comes first, with the expected
    finding as its alternative; empty if there is none. ``plain_steps``: timed when it is recorded.
    """

    case: str
    name: str
    what: str
    needs: str
    rule: str
    line: str
    also: tuple[str, ...]
    stacks: bool
    other_fix: str = ""
    twin_steps: int = 1
    easier: str = ""
    plain_steps: int = 20

    @property
    def script(self) -> Path:
        return FOLDER / self.case / f"{self.name}.py"

    @property
    def run(self) -> Path:
        """The recorded run folder, beside the script."""
        return self.script.with_suffix("")

    @property
    def line_number(self) -> int:
        lines = [line.strip() for line in self.script.read_text().splitlines()]
        if lines.count(self.line) != 1:
            raise ValueError(f"{self.script} has {lines.count(self.line)} lines {self.line!r}, not 1")
        return lines.index(self.line) + 1

    def __str__(self) -> str:
        return f"{self.case}/{self.name}"


# True of every sample, and not planted: they keep to one thread, so that their times repeat.
OF_ALL = "threads-unused"


def advised(document: Document) -> list[tuple[str, str | None]]:
    """Rule and place of each row of the plan, followed by those of its alternatives; `OF_ALL` left out."""
    rows: list[tuple[str, str | None]] = []
    for row in (row for row in document.plan if row.rule != OF_ALL):
        rows.append((row.rule, row.where))
        for finding in document.findings:
            if finding.alternative_to == row.rule:
                line = place(finding)
                rows.append((finding.rule, text.place(line) if line else None))
    return rows


def is_recorded(run: Path) -> bool:
    return (run / "run.json").is_file()


def samples_for(device: str) -> list[Sample]:
    """Those that show their disease on "cpu" or "cuda"."""
    return [sample for sample in SAMPLES if device == "cuda" or sample.needs != "gpu"]


def _read(path: Path) -> list[Sample]:
    expected = tomllib.loads(path.read_text())
    what, needs, stacks = expected.pop("what"), expected.pop("needs", ""), expected.pop("stacks", True)
    other_fix, twin_steps = expected.pop("other_fix", ""), expected.pop("twin_steps", 1)
    plain_steps = expected.pop("plain_steps", 20)
    return [
        Sample(
            path.parent.name,
            name,
            what,
            needs,
            top.get("rule", ""),
            top.get("line", ""),
            tuple(top.get("also", ())),
            stacks,
            other_fix,
            twin_steps,
            top.get("easier", ""),
            plain_steps,
        )
        for name, top in expected.items()
    ]


SAMPLES = [sample for path in sorted(FOLDER.glob("*/expected.toml")) for sample in _read(path)]
