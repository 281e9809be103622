"""Record every sample on a machine with a GPU, as far as the time goes; then what that says of the diagnosis.

    python -m sample_traces.gpu --out FOLDER [--budget SECONDS]

Run it again with the same FOLDER to go on where it stopped. Samples that need a GPU come first. Needs torch with CUDA and the package's
dependencies, not the package installed. FOLDER then holds <case>/<script>/, to be copied beside the scripts.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from diagnose.measure.recording import load_recording
from sample_traces.accuracy import page, recorded_answers, torch_answers
from sample_traces.record import PATTERNS, device_name, keep, keep_patterns, relative_deviation, run_recorder
from sample_traces.samples import SAMPLES, Sample, is_recorded
from sample_traces.tables import table

FIRST_GUESS_S = 30.0  # how long a recording takes, before one was timed
PATTERNS_S = 60.0  # the same for torch's patterns, which are not timed and so run side by side
AT_ONCE = 6
TABLES_S = 45.0  # kept for the tables at the end


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sample_traces.gpu")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS", help="end before this time is over")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(f"no CUDA device, or a torch without CUDA: {torch.__version__}")
    ends_at = time.monotonic() + options.budget - TABLES_S
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {device_name()}", flush=True)

    samples = sorted(SAMPLES, key=lambda sample: sample.needs != "gpu")
    failed = record_all(missing(samples, options.out, "run.json"), options.out, ends_at)
    judge_by_torch(missing(samples, options.out, PATTERNS), options.out, ends_at)
    print(page(recorded_answers(options.out), torch_answers(options.out)))
    print(costs(options.out))
    print("\n".join(f"failed: {sample}" for sample in failed))
    return 1 if failed else 0


def folder_of(sample: Sample, out: Path) -> Path:
    return out / sample.case / sample.name


def missing(samples: Iterable[Sample], out: Path, name: str) -> list[Sample]:
    return [sample for sample in samples if not (folder_of(sample, out) / name).exists()]


def record_all(samples: Iterable[Sample], out: Path, ends_at: float) -> list[Sample]:
    """One after the other, since they are timed. Returns those that failed."""
    failed = []
    longest = FIRST_GUESS_S
    for sample in samples:
        started = time.monotonic()
        if started + longest > ends_at:
            print("the time is up: run again to go on", flush=True)
            break
        if not reported(record_once, sample, out):
            failed.append(sample)
        longest = max(longest, time.monotonic() - started)
    return failed


def record_once(sample: Sample, out: Path) -> str:
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        run_recorder(sample, run)
        keep(run, sample, folder_of(sample, out))
        return f"plain steps deviate by {relative_deviation(run):.1%}"


def judge_by_torch(samples: Iterable[Sample], out: Path, ends_at: float) -> None:
    def judge(sample: Sample) -> None:
        if time.monotonic() + PATTERNS_S < ends_at:
            reported(patterns_once, sample, out)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(judge, samples))


def patterns_once(sample: Sample, out: Path) -> str:
    keep_patterns(sample, folder_of(sample, out))
    return "torch's patterns"


def reported(action: Callable[[Sample, Path], str], sample: Sample, out: Path) -> bool:
    """Whether the action went well; prints how it went."""
    started = time.monotonic()
    try:
        result = action(sample, out)
        print(f"{sample}: {result}, {time.monotonic() - started:.0f} s", flush=True)
        return True
    except Exception as error:
        print(f"{sample}: {type(error).__name__}: {error}", flush=True)
    return False


def costs(out: Path) -> str:
    """What each disease costs here, by the plain steps of the recordings."""
    rows = []
    for case in sorted({sample.case for sample in SAMPLES}):
        sick, healthy = (plain_ms(out / case / name) for name in ("sick", "healthy"))
        if sick and healthy:
            rows.append((case, f"{sick:.2f}", f"{healthy:.2f}", f"{sick / healthy:.2f}"))
    return table(["case", "sick, ms a step", "healthy, ms a step", "ratio"], rows)


def plain_ms(run: Path) -> float | None:
    """None if it was not recorded, or without plain steps."""
    step_ns = load_recording(run).step_ns("plain") if is_recorded(run) else ()
    return float(np.median(step_ns)) / 1e6 if len(step_ns) else None


if __name__ == "__main__":
    sys.exit(main())
