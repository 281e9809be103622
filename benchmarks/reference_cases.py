"""The reference cases, one change after the other: whole runs side by side.

    python -m benchmarks reference-cases [--rounds N] [--write] [mnist resnet]

Each case begins with a slow script and makes the changes of its changes.toml, each on top of those before.
All versions run to their end, in turns, without the recorder; what needs a GPU is timed where there is one.
With ``--write`` the tables go into docs/reference-cases.md.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT
from benchmarks.machine import in_words, machine
from benchmarks.options import parser
from benchmarks.samples import FOLDER
from benchmarks.tables import table

PAGE = ROOT / "docs" / "reference-cases.md"
ROUNDS = 5
LIMIT_S = 3600.0


@dataclass(frozen=True)
class Version:
    """``change``: what was done last, on top of all before. ``script``: the whole text."""

    change: str
    needs: str
    script: str


@dataclass(frozen=True)
class Case:
    """``source``: where the case was published, and what it gained there."""

    name: str
    first: Path
    source: str

    def versions(self) -> list[Version]:
        """The script as it is, then with each change. Raises ValueError where a text is not there once."""
        script = self.first.read_text(encoding="utf-8")
        found = [Version("as it is", "", script)]
        listed = tomllib.loads((self.first.parent / "changes.toml").read_text(encoding="utf-8"))
        for change in listed["change"]:
            for old, new in change["replace"]:
                if script.count(old) != 1:
                    raise ValueError(
                        f"{self.name}: {change['what']}: {script.count(old)} times {old!r}, not 1"
                    )
                script = script.replace(old, new)
            found.append(Version(change["what"], change.get("needs", ""), script))
        return found


CASES = (
    Case(
        "mnist",
        FOLDER / "mnist" / "sick.py",
        "Published: a feed-forward network on MNIST, 22.67 s without workers, 9.14 s with one, 9.00 s with "
        "pinned memory as well.",
    ),
    Case(
        "resnet",
        FOLDER / "stories" / "resnet" / "before.py",
        "Published: a ResNet-50 on pictures, five times as fast after its loader, precision and batches were "
        "mended. On a CPU the script makes one thin block of it.",
    ),
)


def timed(versions: Sequence[Version], rounds: int, limit_s: float = LIMIT_S) -> list[list[float]]:
    """Seconds of each whole run, by version: each round runs all of them. Raises SubprocessError where one
    fails, or where all together take longer than ``limit_s``.
    """
    ends_at = time.monotonic() + limit_s
    seconds: list[list[float]] = [[] for _ in versions]
    with tempfile.TemporaryDirectory() as folder:
        scripts = [Path(folder) / f"version{number}.py" for number in range(len(versions))]
        for script, version in zip(scripts, versions, strict=True):
            script.write_text(version.script, encoding="utf-8")
        for _ in range(rounds):
            for script, runs in zip(scripts, seconds, strict=True):
                began = time.monotonic()
                subprocess.run(
                    [sys.executable, str(script)],
                    check=True,
                    stdout=subprocess.DEVNULL,
                    timeout=ends_at - began,
                )
                runs.append(time.monotonic() - began)
    return seconds


def rows_of(versions: Sequence[Version], seconds: Sequence[Sequence[float]]) -> list[tuple[str, ...]]:
    """``seconds``: empty for a version that was not timed."""
    rows: list[tuple[str, ...]] = []
    first = before = 0.0
    for version, runs in zip(versions, seconds, strict=True):
        if not runs:
            rows.append((version.change, f"needs a {version.needs.upper()}", "", "", ""))
            continue
        median = statistics.median(runs)
        gain = f"{median / before - 1:+.0%}".replace("-", "−") if before else ""
        first = first or median
        spread = f"{min(runs):.2f}–{max(runs):.2f}"
        rows.append((version.change, f"{median:.2f}", spread, gain, f"{first / median:.2f} ×"))
        before = median
    return rows


def told(case: Case, has_gpu: bool, rounds: int, limit_s: float = LIMIT_S) -> str:
    """A section of the page. Raises what `timed` does."""
    versions = case.versions()
    runs = [version for version in versions if has_gpu or not version.needs]
    by_change = dict(zip((version.change for version in runs), timed(runs, rounds, limit_s), strict=True))
    seconds = [by_change.get(version.change, []) for version in versions]
    head = ["change, on top of those before", "whole run, s", "from–to", "this change", "as fast as at first"]
    return f"## {case.name}\n\n{case.source}\n\n{table(head, rows_of(versions, seconds)).strip()}"


def page_of(parts: Sequence[str], where: str, rounds: int) -> str:
    return (
        "\n\n".join(
            [
                "# The reference cases, one change after the other",
                "Written by `python -m benchmarks reference-cases --write`: whole runs with their start-up, "
                f"in turns and without the recorder; the median of {rounds}. {where}.",
                *parts,
            ]
        )
        + "\n"
    )


def main(arguments: Sequence[str]) -> int:
    names = [case.name for case in CASES]
    options = parser("reference-cases", __doc__)
    options.add_argument("cases", nargs="*", metavar="case", help=f"{' or '.join(names)}; default: both")
    options.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    options.add_argument("--write", action="store_true", help="write the page")
    given = options.parse_args(arguments)
    if unknown := set(given.cases) - set(names):
        options.error(f"no case {', '.join(sorted(unknown))}: {', '.join(names)}")
    known = machine()
    parts = [
        told(case, bool(known["gpu"]), given.rounds)
        for case in CASES
        if not given.cases or case.name in given.cases
    ]
    page = page_of(parts, in_words(known), given.rounds)
    print(page)
    if given.write:
        PAGE.write_text(page, encoding="utf-8")
    return 0
