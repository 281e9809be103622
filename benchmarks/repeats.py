"""How often `compare` sees a change where nothing changed: bundled scripts recorded again
and again, every two runs compared.

    python -m benchmarks repeats [--runs N]

Prints the verdicts by script, and how far the fastest and the slowest of its runs are apart.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.options import parser
from benchmarks.samples import FOLDER
from diagnose.compare.comparison import compare
from diagnose.document.model import Document
from diagnose.document.queries import step_ms
from diagnose.pipeline import analyse

SCRIPTS = (
    "input-wait/sick.py",
    "logger/healthy.py",
    "host-reads/sick.py",
    "small-ops/sick.py",
    "healthy/train.py",
)


def recorded(script: Path, out: Path) -> Document:
    subprocess.run(
        [sys.executable, "-m", "diagnose", "--quiet", "--out", str(out), str(script)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return analyse(out)


def main(arguments: Sequence[str]) -> None:
    options = parser("repeats", __doc__)
    options.add_argument("--runs", type=int, default=5, metavar="N", help="of each script (default 5)")
    runs = options.parse_args(arguments).runs
    print("| script | verdicts of two runs | slowest ÷ fastest run |\n|---|---|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in SCRIPTS:
            documents = [
                recorded(FOLDER / name, Path(folder) / name.replace("/", "-") / str(number))
                for number in range(runs)
            ]
            verdicts = Counter(compare(a, b).verdict for a, b in itertools.combinations(documents, 2))
            steps = [step_ms(document) or float("nan") for document in documents]
            told = ", ".join(
                f"{count} {verdict.replace('_', ' ')}" for verdict, count in verdicts.most_common()
            )
            print(f"| `{name}` | {told} | {max(steps) / min(steps):.2f} |", flush=True)
