"""What each disease costs: plain runs of the sick script and its healthy
twin, in turns, without the recorder.

    python -m benchmarks twins [row-loop input-wait …]

Prints a Markdown table, of all cases that need no GPU or of those named. Ends with exit code 1 if the
two scripts of a case do not print the same results.
"""

import re
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.options import parser
from benchmarks.samples import SAMPLES, Sample

ROUNDS = 5
TIME = re.compile(r"([\d.]+) ms a step")


def run(sample: Sample) -> tuple[float, str]:
    """Milliseconds a step, and all else that the script prints."""
    done = subprocess.run(
        [sys.executable, sample.script.name],
        cwd=sample.script.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    found = TIME.search(done.stdout)
    if not found:
        sys.exit(f"{sample} did not print its time a step")
    return float(found[1]), TIME.sub("", done.stdout)


def main(arguments: Sequence[str]) -> None:
    options = parser("twins", __doc__)
    options.add_argument("cases", nargs="*", metavar="case", help="default: all that need no GPU")
    wanted = options.parse_args(arguments).cases
    by_name = {str(sample): sample for sample in SAMPLES}
    if unknown := set(wanted) - {sample.case for sample in SAMPLES if sample.name == "sick"}:
        sys.exit(f"there is no case {', '.join(sorted(unknown))}")
    differ = []
    print(
        "| case | sick, ms a step | healthy, ms a step | ratio of the medians | lowest–highest ratio of a "
        "round |"
    )
    print("|---|---|---|---|---|")
    for sample in SAMPLES:
        if sample.name == "sick" and (sample.case in wanted if wanted else sample.needs != "gpu"):
            rounds = [(run(sample), run(by_name[f"{sample.case}/healthy"])) for _ in range(ROUNDS)]
            if len({printed for both in rounds for _, printed in both}) > 1:
                differ.append(sample.case)
            times = [(sick[0], healthy[0]) for sick, healthy in rounds]
            sick, healthy = (statistics.median(one) for one in zip(*times, strict=True))
            ratios = [a / b for a, b in times]
            spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
            print(
                f"| {sample.case} | {sick:.1f} | {healthy:.1f} | {sick / healthy:.2f} | {spread} |",
                flush=True,
            )
    if differ:
        sys.exit(f"what the two scripts print differs: {', '.join(differ)}")
