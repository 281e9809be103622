"""Record every sample that this machine can show again, or those that are named.

    python -m benchmarks record [input-wait/sick …]

A recording is taken only from a quiet moment. The folders of the machine it ran on are taken out: the
script's own becomes /sample, those of Python and of this project become /python, the user's becomes /home.
"""

import gzip
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from benchmarks import ROOT
from benchmarks.machine import cpu_name
from benchmarks.options import parser
from benchmarks.samples import SAMPLES, Sample, samples_for
from benchmarks.tasks import recorded
from benchmarks.torch_patterns import said_by_torch
from diagnose.measure.recording import Recording, load_recording

STEPS = 2
TIMEOUT_S = 120
ATTEMPTS = 5
# of the plain steps: good enough at once; still good enough to keep
QUIET_DEVIATION, LARGEST_DEVIATION = (0.03, 0.3)
LARGEST_BYTES = 300_000
PATTERNS = "torch_patterns.json"


def record_in_quiet(sample: Sample) -> str:
    """Record beside the script, again and again until the plain steps agree; the quietest
    recording is kept. Returns a line on it.

    Raises RuntimeError if it is too noisy or too large to keep.
    """
    with tempfile.TemporaryDirectory() as folder:
        deviations: dict[Path, float] = {}
        while len(deviations) < ATTEMPTS and min(deviations.values(), default=1.0) > QUIET_DEVIATION:
            out = Path(folder) / str(len(deviations))
            run_recorder(sample, out)
            deviations[out] = relative_deviation(load_recording(out))
        quietest = min(deviations, key=lambda out: deviations[out])
        if deviations[quietest] > LARGEST_DEVIATION:
            raise RuntimeError(
                f"{sample}: the plain steps never deviated by less than {deviations[quietest]:.0%}: close "
                "other programs"
            )
        keep(quietest, sample, sample.run)
    keep_patterns(sample, sample.run)
    size = size_of(sample.run)
    if too_large := why_too_large(size):
        raise RuntimeError(f"{sample}: {too_large}")
    return f"{sample}: {size // 1000} kB, plain steps deviate by {deviations[quietest]:.1%}"


def size_of(run: Path) -> int:
    """Bytes of all files of a recording."""
    return sum(file.stat().st_size for file in run.rglob("*") if file.is_file())


def why_too_large(size: int) -> str:
    """Why a recording of so many bytes is none to commit; empty if it is."""
    if size <= LARGEST_BYTES:
        return ""
    return (
        f"{size // 1000} kB are more than {LARGEST_BYTES // 1000} kB: fewer steps, `stacks = false` or a "
        "smaller script"
    )


def run_recorder(sample: Sample, out: Path, seconds: float = 3600.0) -> None:
    """Raises RuntimeError, with what was said on stderr, if it fails or takes longer."""
    options = [
        f"--steps={STEPS}",
        f"--plain-steps={sample.plain_steps}",
        f"--timeout={TIMEOUT_S}",
        f"--out={out}",
    ]
    options += [] if sample.stacks else ["--no-stacks"]
    recorded(*options, sample.script.name, cwd=sample.script.parent, seconds=seconds)


def relative_deviation(recording: Recording) -> float:
    """The median deviation from the median plain step, as a share of it; infinite if the
    script had no step left for that phase.
    """
    step_ns = recording.step_ns("plain")
    if not len(step_ns):
        return float("inf")
    median = np.median(step_ns)
    return float(np.median(np.abs(step_ns - median)) / median)


def keep(out: Path, sample: Sample, target: Path) -> None:
    """Copy what was recorded, without reports."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "rank0").mkdir(parents=True)
    for source in [
        *sorted((out / "rank0").iterdir()),
        out / "run.json",
    ]:  # run.json last: what has it is complete
        (target / source.relative_to(out)).write_bytes(neutral(source, sample, out))


def keep_patterns(sample: Sample, target: Path) -> None:
    """What torch's own pattern matcher says of the script, beside the recording."""
    target.mkdir(parents=True, exist_ok=True)
    (target / PATTERNS).write_text(
        json.dumps(said_by_torch(sample.script), indent=1).replace(str(sample.script.parent), "/sample")
    )


def neutral(source: Path, sample: Sample, out: Path) -> bytes:
    """The file without the names of this machine."""
    content = source.read_bytes()
    if source.suffix == ".bin":
        return content
    zipped = source.suffix == ".gz"
    text = (gzip.decompress(content) if zipped else content).decode("utf-8", errors="replace")
    text = (
        text.replace(str(out), "/run")
        .replace(str(sample.script.parent), "/sample")
        .replace(platform.release(), "kernel")
    )
    for folder in (sys.prefix, sys.base_prefix, str(ROOT)):
        text = text.replace(folder, "/python")
    text = re.sub(r'"host_name": "[^"]*"', '"host_name": "sample"', text)
    # a folder that torch names after the user
    text = re.sub(r"/[^\s\"]*/torchinductor_\w+", "/torchinductor", text)
    content = text.replace(str(Path.home()), "/home").encode()
    return gzip.compress(content, 9, mtime=0) if zipped else content


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name() -> str:
    cores = f"{os.cpu_count()} cores of {cpu_name()}"
    return f"{torch.cuda.get_device_name()}, {cores}" if device() == "cuda" else cores


def main(arguments: Sequence[str]) -> int:
    """1 if any could not be kept."""
    options = parser("record", __doc__)
    options.add_argument("names", nargs="*", metavar="sample", help="only these: a case, or one script of it")
    names = options.parse_args(arguments).names
    print(f"torch {version('torch')}, Python {platform.python_version()}, {device_name()}")
    failed = False
    for sample in (
        [one for one in SAMPLES if {str(one), one.case} & set(names)] if names else samples_for(device())
    ):
        try:
            print(record_in_quiet(sample), flush=True)
        except RuntimeError as error:
            print(error, file=sys.stderr, flush=True)
            failed = True
    return int(failed)
