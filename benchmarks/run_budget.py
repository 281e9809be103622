"""Where the time of a run goes, from the command to the prompt, by the stages that it tells.

    python -m benchmarks run-budget [--write] [SCRIPT]

The median of three runs of SCRIPT (sample_traces/input-wait/sick.py if none is named), and what importing
takes the script alone. With ``--write`` it goes into docs/run-budget.md.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.options import parser
from benchmarks.tables import table

PAGE = ROOT / "docs" / "run-budget.md"
SCRIPT = ROOT / "sample_traces" / "input-wait" / "sick.py"
RUNS = 3
LEAST_IMPORT_S = 0.1
STARTING, ENDING = "starting", "writing the files"
_STAGE = re.compile(r"diagnose: (?P<what>.+?) …")
_IMPORT = re.compile(r"import time: +\d+ \| +(?P<us>\d+) \| (?P<module>\S+)")  # one that no other import made


def stages_of(lines: Iterable[tuple[float, str]], end_s: float) -> dict[str, float]:
    """Seconds of each stage, from its line to that of the next. ``lines``: when each came, what it says."""
    began = [(0.0, STARTING)]
    for at_s, line in lines:
        if (found := _STAGE.match(line)) and found["what"] != began[-1][1]:
            began.append((at_s, found["what"]))
        elif line.startswith("Report "):
            began.append((at_s, ENDING))
    ends = [at_s for at_s, _ in began[1:]] + [end_s]
    seconds: dict[str, float] = {}
    for (at_s, what), until_s in zip(began, ends, strict=True):
        seconds[what] = seconds.get(what, 0.0) + until_s - at_s
    return seconds


def timed(script: Path) -> dict[str, float]:
    """The stages of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "diagnose", "--out", f"{folder}/out", str(script)]
        began = time.perf_counter()
        with subprocess.Popen(
            command, cwd=script.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as run:
            assert run.stderr is not None
            lines = [(time.perf_counter() - began, line) for line in run.stderr]
        return stages_of(lines, time.perf_counter() - began)


def imports_of(script: Path) -> dict[str, float]:
    """What the script alone imports that takes long, s."""
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=script.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = (_IMPORT.match(line) for line in done.stderr.splitlines())
    seconds = {match["module"]: int(match["us"]) / 1e6 for match in found if match}
    return {module: took for module, took in seconds.items() if took >= LEAST_IMPORT_S}


def page_of(script: Path, runs: Sequence[dict[str, float]], imports: dict[str, float]) -> str:
    """Stages in the order in which they came; the whole is the median of the runs, not the sum of medians."""
    rows = [
        (what, f"{statistics.median(run.get(what, 0.0) for run in runs):.1f}")
        for what in dict.fromkeys(what for run in runs for what in run)
    ]
    whole = statistics.median(sum(run.values()) for run in runs)
    imported = ", ".join(f"`{module}` {seconds:.1f} s" for module, seconds in imports.items())
    return (
        "\n\n".join(
            [
                "# Where the time of a run goes",
                f"Written by `python -m benchmarks run-budget --write`: `{script.relative_to(ROOT)}`, "
                f"the median of {len(runs)} runs.",
                table(["stage", "s"], [*rows, ("**all**", f"**{whole:.1f}**")]).strip(),
                f"Before its first step the script alone imports {imported}.",
            ]
        )
        + "\n"
    )


def main(arguments: Sequence[str]) -> int:
    options = parser("run-budget", __doc__)
    options.add_argument("script", nargs="?", type=Path, default=SCRIPT)
    options.add_argument("--write", action="store_true", help="write the page")
    given = options.parse_args(arguments)
    script = given.script.resolve()
    page = page_of(script, [timed(script) for _ in range(RUNS)], imports_of(script))
    print(page)
    if given.write:
        PAGE.write_text(page, encoding="utf-8")
    return 0
