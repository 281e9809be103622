"""What each disease costs: plain runs of the sick script and its healthy twin, in turns, without the recorder.

    python -m sample_traces.measure [--write] [CASE…]

Prints a Markdown table, of all cases that need no GPU or of those named; --write keeps the ratios in measured.json, against which
`sample_traces/prediction.py` holds predictions. Ends with exit code 1 if the two scripts of a case do not print the same results.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys

from sample_traces.samples import FOLDER, SAMPLES, Sample

ROUNDS = 3
MEASURED = FOLDER / "measured.json"
TIME = re.compile(r"([\d.]+) ms a step")


def run(sample: Sample) -> tuple[float, str]:
    """Milliseconds a step, and all else that the script prints."""
    done = subprocess.run([sys.executable, sample.script.name], cwd=sample.script.parent, check=True, capture_output=True, text=True)
    found = TIME.search(done.stdout)
    if not found:
        sys.exit(f"{sample} did not print its time a step")
    return float(found[1]), TIME.sub("", done.stdout)


def rounds_of(sick: Sample, healthy: Sample) -> tuple[list[tuple[float, float]], bool]:
    """Milliseconds a step of both in each round, in the order A B, B A …; and whether they printed the same."""
    times: list[tuple[float, float]] = []
    printed = set()
    for number in range(ROUNDS):
        order = (sick, healthy) if number % 2 == 0 else (healthy, sick)
        (first, said), (second, also) = map(run, order)
        times.append((first, second) if number % 2 == 0 else (second, first))
        printed |= {said, also}
    return times, len(printed) == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--write", action="store_true", help=f"keep the ratios in {MEASURED.name}")
    options = parser.parse_args()
    by_name = {str(sample): sample for sample in SAMPLES}
    if unknown := set(options.cases) - {sample.case for sample in SAMPLES if sample.name == "sick"}:
        sys.exit(f"there is no case {', '.join(sorted(unknown))}")
    kept = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    differ = []
    print("| case | sick, ms a step | healthy, ms a step | ratio of the medians | lowest–highest ratio of a round |")
    print("|---|---|---|---|---|")
    for sample in SAMPLES:
        if sample.name != "sick" or not (sample.case in options.cases if options.cases else sample.needs != "gpu"):
            continue
        times, same = rounds_of(sample, by_name[f"{sample.case}/healthy"])
        differ += [] if same else [sample.case]
        sick, healthy = (statistics.median(one) for one in zip(*times, strict=True))
        ratios = sorted(b / a for a, b in times)
        kept[sample.case] = {"healthy_over_sick": round(statistics.median(ratios), 4), "rounds": [round(one, 4) for one in ratios]}
        print(
            f"| {sample.case} | {sick:.1f} | {healthy:.1f} | {sick / healthy:.2f} | {1 / ratios[-1]:.2f}–{1 / ratios[0]:.2f} |", flush=True
        )
        if options.write:
            MEASURED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    if differ:
        sys.exit(f"what the two scripts print differs: {', '.join(differ)}")


if __name__ == "__main__":
    main()
