"""What reading and judging a trace costs, as ratios from one run; every measurement in a fresh process.

    python -m benchmarks trace [--size MB] [--alone]

For the largest traces at hand, and for one made larger by repeating its steps with times and ids shifted (10
MB, 100 MB, 1 GB; ``--size`` is the largest): the bare msgspec decode of the bytes into the reader's own
types; bytes in memory to the finished result document; inflation; peak memory; HolisticTraceAnalysis loading
the same file. It and what else inflates gzip are installed into an environment of their own, without torch.
"""

from __future__ import annotations

import gc
import gzip
import importlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.options import parser

RECORDED = ROOT.parent / "shared" / "traces"
SAMPLE = ROOT / "sample_traces" / "healthy" / "train" / "rank0" / "timeline.pt.trace.json.gz"
REPEATED = "hta-dfindex-v100.json.gz"  # the largest of them with several marked steps
SIZES_MB = (10, 100, 1000)
# HolisticTraceAnalysis goes by this name since 0.6. Loading imports the rest (pandas 3 stops it
# on some); its notebooks are left out.
PEER = ("--no-deps", "traceinsight"), ("numpy", "pandas<3", "networkx", "plotly", "pydot", "psutil", "pyyaml")
INFLATERS = {"gzip": "gzip", "isal": "isal.igzip", "zlib-ng": "zlib_ng.gzip_ng"}
BLOCK = 2**20


# ---- what is measured; each runs in a process of its own


def _best(action: Callable[[], Any], size: int) -> float:
    """Processor seconds (one thread works, other programs may run beside it) of the fastest of
    five runs; of two for a large file.
    """
    seconds = []
    for _ in range(5 if size < 2e8 else 2):
        started = time.process_time()
        action()
        seconds.append(time.process_time() - started)
    return min(seconds)


def decode(path: Path) -> float:
    from diagnose.trace.decode import decode_file

    data = path.read_bytes()
    gc.disable()
    return _best(lambda: decode_file(data), len(data))


def document(path: Path) -> float:
    """From the bytes in memory: what `analyse` does with a path, less opening the file."""
    from diagnose import pipeline as analyse
    from diagnose.measure.recording import Recording
    from diagnose.trace.reader import read_trace

    data = path.read_bytes()
    setattr(analyse, "load_recording", lambda source: Recording(source, read_trace(io.BytesIO(data))))  # noqa: B010
    return _best(lambda: analyse.analyse(path), len(data))


def report(path: Path) -> float:
    """Once, from the file as a user has it: for its peak memory."""
    from diagnose.pipeline import analyse

    started = time.process_time()
    analyse(path)
    return time.process_time() - started


def start(path: Path) -> float:
    importlib.import_module("diagnose.pipeline")
    return time.process_time()


def inflate(path: Path, module: str) -> float:
    def whole() -> None:
        with importlib.import_module(module).open(path) as file:
            while file.read1(BLOCK):
                pass

    return _best(whole, path.stat().st_size)


PEER_LOAD = """
import math, sys, time
from hta.common.trace import Trace
started = time.process_time()
Trace(trace_files={0: sys.argv[1]}, trace_dir=".").parse_traces(use_multiprocessing=False)
print(time.process_time() - started, math.nan)
"""


def measured(what: str, path: Path, *more: str, python: Path | None = None) -> tuple[float, float]:
    """Seconds and peak memory (MB) of one of the functions above in a fresh process; NaN where it cannot
    run.
    """
    command = [str(python or sys.executable), "-m", "benchmarks.trace", what, str(path), *more]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return _answer(done, f"{what} {' '.join(more)}")


def _answer(done: subprocess.CompletedProcess[str], what: str) -> tuple[float, float]:
    if done.returncode:
        print(f"{what} failed: {(done.stderr.strip().splitlines() or ['failed'])[-1]}", file=sys.stderr)
        return math.nan, math.nan
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)


def peak_mb() -> float:
    """The peak memory of this process; what getrusage tells counts the process that started it too."""
    return int(re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[0]) * 1024 / 1e6


def as_the_command_begins() -> None:
    """This process imports and allocates as `python -m diagnose` does; before anything is read."""
    from diagnose.commands.pandas_alone import import_pandas_alone
    from diagnose.trace.freed import large_blocks_apart

    import_pandas_alone()
    large_blocks_apart()


def _measure(what: str, path: Path, *more: str) -> None:
    as_the_command_begins()
    seconds = globals()[what](path, *more)
    print(seconds, peak_mb())


# ---- what others made


def others_python() -> Path | None:
    """The interpreter of an environment for what is compared with; None if there cannot be one."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torch-diagnose" / "benchmark"
    python = folder / "bin" / "python"
    if not python.exists() and not _ran([sys.executable, "-m", "venv", str(folder)]):
        return None
    for packages in (*PEER, ("isal",), ("zlib-ng",)):
        _ran([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
    return python


def _ran(command: list[str]) -> bool:
    """Whether the command worked; its last words are printed if not."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(
            f"{' '.join(command[-2:])} failed: "
            f"{(done.stderr.strip().splitlines() or ['no reason given'])[-1]}",
            file=sys.stderr,
        )
    return done.returncode == 0


def peer_load(python: Path | None, path: Path) -> float:
    if python is None:
        return math.nan
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [str(python), "-c", PEER_LOAD, str(path)], capture_output=True, text=True, cwd=empty
        )
    return _answer(done, f"HolisticTraceAnalysis on {path.name}")[0]


# ---- a large file


BETWEEN_EVENTS = re.compile(rb'(?<=\}),\s*(?=\{\s*"ph")')
STEP = re.compile(rb'"ProfilerStep#\d+".*?"ts": ?([\d.]+),\s*"dur": ?([\d.]+)', re.DOTALL)
TIME = re.compile(rb'"ts": ?(\d+)')
# What differs from one step to the next.
NUMBERS = re.compile(
    rb'"ts": ?(?P<time>\d+)|"(?:correlation|External id|external id|Ev Idx|Record function id|id)": '
    rb"?(?P<id>\d+)"
    rb"|(?:ProfilerStep#|diagnose::tick\|)(?P<step>\d+)"
)


def write_repeated(recorded: Path, target: Path, size: int) -> None:
    """A trace of at least ``size`` bytes: a step of the recorded one again and again, each
    time later and with ids of its own.
    """
    data = gzip.decompress(recorded.read_bytes())
    start = data.index(b"[", data.index(b'"traceEvents"')) + 1
    # the last one has the end of the file behind it
    step, span_us = _one_step(BETWEEN_EVENTS.split(data[start:])[:-1])
    texts, numbers, kinds = _numbered(step)
    stride = {
        "time": span_us,
        "id": 1 + max(number for number, kind in zip(numbers, kinds, strict=True) if kind == "id"),
        "step": 1,
    }
    strides = [stride[kind] for kind in kinds]
    with target.open("wb") as file:
        file.write(data[:start])
        for repetition in range(math.ceil(size / len(step))):
            written = [b"%b%d" % pair for pair in zip(texts, numbers, strict=False)]
            file.write(b",\n  " * (repetition > 0) + b"".join(written) + texts[-1])
            numbers = [number + by for number, by in zip(numbers, strides, strict=True)]
        file.write(b"\n]}")


def _one_step(events: list[bytes]) -> tuple[bytes, int]:
    """The events that begin in the second marked step, and its length in
    µs; all events where none is marked.
    """
    times = [int(match[1]) if (match := TIME.search(event)) else 0 for event in events]
    marks = sorted(
        (float(match[1]), float(match[2]))
        for event in events
        if b"ProfilerStep#" in event and (match := STEP.search(event))
    )
    begin, length = marks[1] if len(marks) > 1 else (min(filter(None, times)), max(times))
    inside = [
        event for event, time_us in zip(events, times, strict=True) if begin <= time_us < begin + length
    ]
    return b",\n  ".join(inside), math.ceil(length) + 10


def _numbered(step: bytes) -> tuple[list[bytes], list[int], list[str]]:
    """The step's text between the numbers that differ from step to step, those numbers, and what each is."""
    texts, numbers, kinds, at = [], [], [], 0
    for match in NUMBERS.finditer(step):
        kind = str(match.lastgroup)
        texts.append(step[at : match.start(kind)])
        numbers.append(int(match[kind]))
        kinds.append(kind)
        at = match.end()
    return [*texts, step[at:]], numbers, kinds


# ---- the table


def files(folder: Path, largest_mb: int) -> Iterator[tuple[str, Path, Path | None]]:
    """Name, uncompressed file and compressed file: recorded traces first, then the repeated one by size."""
    recorded = sorted(RECORDED.glob("*.json.gz"), key=_inflated_size)[-3:] or [SAMPLE]
    for packed in recorded:
        plain = folder / packed.stem
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        yield packed.name.split(".")[0], plain, packed
        plain.unlink()
    origin = RECORDED / REPEATED if (RECORDED / REPEATED).exists() else SAMPLE
    for size in SIZES_MB:
        if size <= largest_mb:
            plain = folder / f"repeated-{size}.json"
            write_repeated(origin, plain, size * 10**6)
            yield f"{origin.name.split('.')[0]} repeated", plain, None
            plain.unlink()


def _inflated_size(packed: Path) -> int:
    """What gzip says about itself in its last four bytes."""
    with packed.open("rb") as file:
        file.seek(-4, os.SEEK_END)
        return int.from_bytes(file.read(), "little")


def main(arguments: Sequence[str]) -> None:
    options = parser("trace", __doc__)
    options.add_argument(
        "--size", type=int, default=1000, metavar="MB", help="the largest repeated file (1000)"
    )
    options.add_argument("--alone", action="store_true", help="install nothing to compare with")
    given = options.parse_args(arguments)
    python = None if given.alone else others_python()
    print(f"Start of a process and imports, beside all below: {measured('start', ROOT)[0]:.2f} s\n")
    columns = (
        "file",
        "MB",
        "decode s",
        "MB/s",
        "document s",
        "÷ decode",
        "peak MB",
        "÷ size",
        "HTA s",
        "HTA ÷ document",
    )
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    inflation, seconds_by_size = [], []
    with tempfile.TemporaryDirectory() as name:
        for title, plain, packed in files(Path(name), given.size):
            size = plain.stat().st_size / 1e6
            bare, (whole, _), (_, peak) = (
                measured("decode", plain)[0],
                measured("document", plain),
                measured("report", plain),
            )
            peer = peer_load(python, plain)
            row = (
                title,
                f"{size:.0f}",
                f"{bare:.2f}",
                f"{size / bare:.0f}",
                f"{whole:.2f}",
                f"{whole / bare:.2f}",
                f"{peak:.0f}",
                f"{peak / size:.2f}",
                f"{peer:.1f}",
                f"{peer / whole:.1f}",
            )
            print("| " + " | ".join(row) + " |", flush=True)
            if packed is None:
                seconds_by_size.append((size, whole))
            else:
                seconds = {
                    name: measured("inflate", packed, module, python=python)[0]
                    for name, module in INFLATERS.items()
                }
                inflation.append((title, size, bare, seconds))
    _print_inflation(inflation)
    _print_exponent(seconds_by_size)


def _print_inflation(rows: list[tuple[str, float, float, dict[str, float]]]) -> None:
    print(
        "\nInflation, beside the above (÷ decode):\n\n| file | "
        + " | ".join(INFLATERS)
        + " |\n|"
        + "---|" * (len(INFLATERS) + 1)
    )
    for title, size, bare, seconds in rows:
        cells = [
            f"{took_s:.2f} s, {size / took_s:.0f} MB/s ({took_s / bare:.2f})" for took_s in seconds.values()
        ]
        print(f"| {title} | " + " | ".join(cells) + " |")


def _print_exponent(points: list[tuple[float, float]]) -> None:
    """The slope of log time over log size, the sizes' ends."""
    if len(points) > 1:
        (small, fast), (large, slow) = points[0], points[-1]
        print(
            f"\nTime grows with size to the power {math.log(slow / fast) / math.log(large / small):.2f} "
            f"({small:.0f} to {large:.0f} MB)."
        )


if __name__ == "__main__":  # one measurement, in this process
    _measure(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
