"""Record every sample again (`make samples`), or those named on the command line: record.py input-wait/sick …

A recording is taken only from a quiet moment. The folders of the machine it ran on are taken out: the script's own becomes /sample,
those of Python and of this project become /python.
"""

import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from samples import FOLDER, SAMPLES, Sample

from diagnose.measure.recording import load_recording

STEPS = 2
ATTEMPTS = 10
LARGEST_DEVIATION = 0.03
LARGEST_BYTES = 300_000


def record(sample: Sample) -> None:
    for _attempt in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            command = [sys.executable, "-m", "diagnose", f"--steps={STEPS}", f"--out={out}", sample.script.name]
            subprocess.run(command, cwd=sample.script.parent, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deviation = relative_deviation(load_recording(out).step_ns("plain"))
            if deviation <= LARGEST_DEVIATION:
                size = keep(out, sample)
                print(f"{sample}: {size // 1000} kB, plain steps deviate by {deviation:.1%}", flush=True)
                return
    sys.exit(f"{sample}: the plain steps never deviated by less than {LARGEST_DEVIATION:.0%}: close other programs and try again")


def relative_deviation(step_ns: np.ndarray) -> float:
    """The median deviation from the median step, as a share of it."""
    median = np.median(step_ns)
    return float(np.median(np.abs(step_ns - median)) / median)


def keep(out: Path, sample: Sample) -> int:
    """Copy what was recorded, without reports, beside the script. Returns the bytes written."""
    shutil.rmtree(sample.run, ignore_errors=True)
    for source in [out / "run.json", *sorted((out / "rank0").iterdir())]:
        target = sample.run / source.relative_to(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(neutral(source, sample, out))
    size = sum(file.stat().st_size for file in sample.run.rglob("*") if file.is_file())
    if size > LARGEST_BYTES:
        sys.exit(f"{sample} is larger than {LARGEST_BYTES // 1000} kB: fewer steps or a smaller script")
    return size


def neutral(source: Path, sample: Sample, out: Path) -> bytes:
    """The file without the names of this machine."""
    content = source.read_bytes()
    if source.suffix == ".bin":
        return content
    zipped = source.suffix == ".gz"
    text = (gzip.decompress(content) if zipped else content).decode("utf-8", errors="replace")
    text = text.replace(str(out), "/run").replace(str(sample.script.parent), "/sample").replace(platform.release(), "kernel")
    for folder in (sys.prefix, sys.base_prefix, str(FOLDER.parent)):
        text = text.replace(folder, "/python")
    text = re.sub(r'"host_name": "[^"]*"', '"host_name": "sample"', text)
    text = re.sub(r"/[^\s\"]*/torchinductor_\w+", "/torchinductor", text)  # a folder that torch names after the user
    if str(Path.home()) in text:
        sys.exit(f"{source.name} of {sample} still names a folder of this machine")
    content = text.encode()
    return gzip.compress(content, 9, mtime=0) if zipped else content


def cpu_name() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


if __name__ == "__main__":
    print(f"torch {version('torch')}, Python {platform.python_version()}, {os.cpu_count()} cores of {cpu_name()}")
    for sample in SAMPLES:
        if not sys.argv[1:] or str(sample) in sys.argv[1:]:
            record(sample)
