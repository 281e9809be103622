"""How often `compare` sees a change where nothing changed: bundled scripts recorded again
and again, every two runs compared.

    python -m tests.benchmarks.repeats [runs of each script]

Prints the verdicts by script, and how far the fastest and the slowest of its runs are apart.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from diagnose.compare.comparison import compare
from diagnose.document.queries import step_ms
from diagnose.pipeline import analyse
from sample_traces.samples import FOLDER

SCRIPTS = (
    "input-wait/sick.py",
    "logger/healthy.py",
    "host-reads/sick.py",
    "small-ops/sick.py",
    "healthy/train.py",
)


def recorded(script: Path, out: Path) -> dict[str, Any]:
    subprocess.run(
        [sys.executable, "-m", "diagnose", "--quiet", "--out", str(out), str(script)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return analyse(out)


def main(runs: int) -> None:
    print("| script | verdicts of two runs | slowest ÷ fastest run |\n|---|---|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in SCRIPTS:
            documents = [
                recorded(FOLDER / name, Path(folder) / name.replace("/", "-") / str(number))
                for number in range(runs)
            ]
            verdicts = Counter(compare(a, b).verdict for a, b in itertools.combinations(documents, 2))
            steps = [step_ms(one) or float("nan") for one in documents]
            told = ", ".join(
                f"{count} {verdict.replace('_', ' ')}" for verdict, count in verdicts.most_common()
            )
            print(f"| `{name}` | {told} | {max(steps) / min(steps):.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
