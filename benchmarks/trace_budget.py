"""Where the time between a trace and its reports goes, stage by stage, held against the last entry.

    python -m benchmarks trace-budget [--write]

Stages are told as multiples of the bare decode of the same bytes, so that machines can be compared; each is
the fastest of three fresh processes, in processor time. Without ``--write`` nothing is kept. With it an entry
of this commit is added to benchmarks/trace_budget.jsonl, and docs/trace-budget.md shows all of them. The last
file is a recorded one with its steps again and again (`benchmarks.trace`). Exits with 1 where a stage has
grown by more than a quarter and by more than a tenth of the decode, or the peak memory by more than a tenth.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.options import parser
from benchmarks.tables import table
from benchmarks.trace import RECORDED, REPEATED, SAMPLE, as_the_command_begins, peak_mb, write_repeated

ENTRIES, PAGE = ROOT / "benchmarks" / "trace_budget.jsonl", ROOT / "docs" / "trace-budget.md"
FILES = ("tl-sd35", "kineto-rn50-w0-v2", "tl-b200-eager", "tl-mi300-qwen05")  # 62 to 10 MB uncompressed
LARGE_MB = 300  # of the repeated file
PROCESSES = 3
GROWN, OF_DECODE = 1.25, 0.1
PEAK_GROWN = 1.1  # it hardly varies from run to run
DECODE = "decode"


@dataclass(frozen=True)
class Entry:
    """Of a file: its size uncompressed, the seconds of the bare decode, each stage and the peak memory as
    multiples of these.
    """

    commit: str
    day: str
    file: str
    mb: float
    decode_s: float
    stages: dict[str, float]
    peak: float

    @property
    def whole(self) -> float:
        """From the compressed file to the document."""
        stages = ("inflate", "tables", "account", "judge", "predict", "document")
        return sum(self.stages.get(stage, 0.0) for stage in stages) + 1  # older entries know fewer


# ---- one measurement, in a process of its own


def staged(packed: Path) -> dict[str, float]:
    """Processor seconds of each stage; "tables" is what reading takes beyond inflating and decoding."""
    as_the_command_begins()
    from diagnose.document.build import result_document
    from diagnose.document.measurements import verification_in
    from diagnose.judge.findings import judge
    from diagnose.judge.rules import load_rules
    from diagnose.measure.account import account
    from diagnose.measure.metrics import Measured
    from diagnose.measure.recording import load_recording
    from diagnose.measure.sources import Sources
    from diagnose.pipeline import Analysis
    from diagnose.predict.plan import assess
    from diagnose.predict.prediction import Prediction
    from diagnose.report.markdown import markdown
    from diagnose.report.page import page
    from diagnose.report.tensorboard import write_tensorboard
    from diagnose.trace.content import Content
    from diagnose.trace.decode import decode_file

    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        seconds[name] = time.process_time() - began

    with stage("inflate"):
        blocks = list(Content(packed).blocks())
    data = b"".join(blocks)
    with stage(DECODE):
        decode_file(data)
    with stage("tables"):
        recording = load_recording(packed)
    seconds["tables"] = max(0.0, seconds["tables"] - seconds["inflate"] - seconds[DECODE])
    measured = Measured(recording)
    with stage("judge"):
        findings = judge(load_rules(), measured)
    prediction = Prediction(measured)
    with stage("account"):
        spent = account(measured)
    with stage("predict"):
        assessed = assess(findings, measured, prediction, {})
    with stage("document"):
        document = result_document(
            measured, prediction, assessed, spent, Sources(recording), verification_in(recording.proof)
        )
    analysis = Analysis(measured)
    analysis.__dict__.update(document=document, _assessed=assessed)
    with tempfile.TemporaryDirectory() as folder:
        with stage("timeline"):
            picture = analysis.picture
            analysis.write_annotated(Path(folder) / "annotated.json.gz")
        with stage("reports"):
            page(document, picture)
            markdown(document)
            write_tensorboard(document, picture, packed, Path(folder))
    return seconds | {"mb": len(data) / 1e6}


def peak_of(packed: Path) -> float:
    """Peak memory (MB) of making the document, as `python -m diagnose` does."""
    as_the_command_begins()
    from diagnose.pipeline import analyse

    analyse(packed)
    return peak_mb()


def _in_a_process(what: str, packed: Path) -> Any:
    command = [sys.executable, "-m", "benchmarks.trace_budget", what, str(packed)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # an installation has the bytecode
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# ---- entries


def measured_entry(packed: Path, commit: str, day: str) -> Entry:
    runs = [_in_a_process("staged", packed) for _ in range(PROCESSES)]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    megabytes, decode_s = best.pop("mb"), best.pop(DECODE)
    stages = {name: round(seconds / decode_s, 3) for name, seconds in best.items()}
    peak = _in_a_process("peak_of", packed) / megabytes
    name = packed.name.split(".")[0]
    return Entry(commit, day, name, round(megabytes, 1), round(decode_s, 4), stages, round(peak, 2))


def entries() -> list[Entry]:
    """Those kept, oldest first."""
    lines = ENTRIES.read_text(encoding="utf-8").splitlines() if ENTRIES.is_file() else []
    return [Entry(**json.loads(line)) for line in lines]


def grown(entry: Entry, before: Entry) -> list[str]:
    """What takes clearly more than in the entry before: stages, and the peak memory."""
    stages = [
        f"{entry.file}: {stage} grew from {then:.2f} to {now:.2f} × the decode"
        for stage, now in entry.stages.items()
        if (then := before.stages.get(stage)) is not None and now > GROWN * then and now - then > OF_DECODE
    ]
    if entry.peak > PEAK_GROWN * before.peak:
        stages.append(
            f"{entry.file}: the peak memory grew from {before.peak:.2f} to {entry.peak:.2f} × the file"
        )
    return stages


def page_of(kept: Sequence[Entry]) -> str:
    lines = [
        "# What a report of a trace costs",
        "Written by `python -m benchmarks trace-budget --write`. Stages are multiples of the bare decode of "
        "the same bytes; *whole* is from the compressed file to the document; peak memory is a multiple of "
        "the file uncompressed. Entries before 2026-11-25 may have been made without bytecode, which adds "
        "compiling our modules: between them and later ones part of the difference is that.",
    ]
    for name in dict.fromkeys(entry.file for entry in kept):
        of_file = [entry for entry in kept if entry.file == name]
        stages = list(of_file[-1].stages)
        rows = [
            (
                entry.day,
                entry.commit,
                f"{entry.decode_s:.2f} s",
                f"**{entry.whole:.1f}**",
                *(f"{entry.stages[stage]:.2f}" if stage in entry.stages else "–" for stage in stages),
                f"{entry.peak:.1f}",
            )
            for entry in of_file
        ]
        lines += [
            f"## {name}, {of_file[-1].mb:.0f} MB",
            table(["day", "commit", DECODE, "whole", *stages, "peak memory"], rows).strip(),
        ]
    return "\n\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    options = parser("trace-budget", __doc__)
    options.add_argument("--write", action="store_true", help="keep the entry and write the page")
    given = options.parse_args(arguments)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    day, kept = datetime.now(UTC).date().isoformat(), entries()
    latest = {entry.file: entry for entry in kept}
    with tempfile.TemporaryDirectory() as folder:
        now = [measured_entry(path, commit, day) for path in _files(Path(folder))]
    print(page_of([*(latest[entry.file] for entry in now if entry.file in latest), *now]))
    larger = [line for entry in now if entry.file in latest for line in grown(entry, latest[entry.file])]
    print("\n".join(larger) if larger else "No stage grew.")
    if given.write:
        with ENTRIES.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(entry)) + "\n" for entry in now)
        PAGE.write_text(page_of([*kept, *now]), encoding="utf-8")
    return 1 if larger else 0


def _files(folder: Path) -> list[Path]:
    recorded = [path for name in FILES if (path := RECORDED / f"{name}.json.gz").is_file()]
    return [*recorded, _large(folder)] if recorded else [_sample(folder)]


def _sample(folder: Path) -> Path:
    """Where there are no traces of others."""
    copy = folder / "sample.json.gz"
    copy.write_bytes(gzip.compress(gzip.decompress(SAMPLE.read_bytes())))
    return copy


def _large(folder: Path) -> Path:
    plain, packed = folder / f"repeated-{LARGE_MB}.json", folder / f"repeated-{LARGE_MB}.json.gz"
    write_repeated(RECORDED / REPEATED, plain, LARGE_MB * 10**6)
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)
    plain.unlink()
    return packed


if __name__ == "__main__":  # one measurement, in this process
    print(json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]))))
