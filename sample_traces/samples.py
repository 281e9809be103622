"""What the bundled samples are: one a script, as each folder's expected.toml says."""

import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """``rule``: the finding expected on top of the plan; empty if nothing may fire. ``line``: the text of the planted line."""

    case: str
    name: str
    rule: str
    line: str

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


def _read(path: Path) -> list[Sample]:
    expected = tomllib.loads(path.read_text())
    return [Sample(path.parent.name, name, top.get("rule", ""), top.get("line", "")) for name, top in expected.items() if name != "what"]


SAMPLES = [sample for path in sorted(FOLDER.glob("*/expected.toml")) for sample in _read(path)]
