"""What each disease costs: plain runs of the sick script and its healthy twin, in turns, without the recorder.

Prints a Markdown table.
"""

import re
import statistics
import subprocess
import sys

from samples import SAMPLES, Sample

ROUNDS = 5


def step_ms(sample: Sample) -> float:
    done = subprocess.run([sys.executable, sample.script], check=True, capture_output=True, text=True)
    found = re.search(r"([\d.]+) ms a step", done.stdout)
    if not found:
        sys.exit(f"{sample} did not print its time a step")
    return float(found[1])


def main() -> None:
    by_name = {str(sample): sample for sample in SAMPLES}
    print("| case | sick, ms a step | healthy, ms a step | ratio of the medians | lowest–highest ratio of a round |")
    print("|---|---|---|---|---|")
    for sample in SAMPLES:
        if sample.name == "sick":
            rounds = [(step_ms(sample), step_ms(by_name[f"{sample.case}/healthy"])) for _ in range(ROUNDS)]
            sick, healthy = (statistics.median(times) for times in zip(*rounds, strict=True))
            ratios = [a / b for a, b in rounds]
            spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
            print(f"| {sample.case} | {sick:.1f} | {healthy:.1f} | {sick / healthy:.2f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
