"""Damaged and hostile traces by the thousand: each ends in a document whose ledger
adds up, or in one refusal in words.

    python -m benchmarks fuzz --count 20000 --seed 1
    python -m benchmarks fuzz --seed 1 --only 4711        one mutant again, with its traceback

Mutant number n of a seed is always the same for the same corpus: small traces of the bundled samples, of
``../shared/traces`` where that is there, and synthetic ones.
"""

from __future__ import annotations

import functools
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import diagnose.pipeline
from benchmarks.mutants import Json, corpus, mutant
from benchmarks.options import parser
from diagnose.document.schema import problems
from diagnose.document.stored import read_document, to_json
from diagnose.errors import TraceUnreadable, UsageError
from diagnose.judge.rules import load_rules
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.pipeline import Analysis
from diagnose.report.markdown import markdown
from diagnose.report.page import page
from diagnose.trace.intervals import total

MAX_SECONDS = 20  # of the processor
MAX_MEMORY = 3 * 2**30
BLOCK = 500  # mutants a worker process judges before a fresh one takes over


class Verdict(NamedTuple):
    """What became of a mutant: "document", "refused", or "failed" with the reason."""

    number: int
    outcome: str
    reason: str = ""


def outcome(data: bytes, folder: Path) -> str:
    """What becomes of a trace: "document" or "refused". Anything else raises."""
    path = folder / "mutant.json"
    path.write_bytes(data)
    try:
        measured = Measured(load_recording(path))
    except (TraceUnreadable, UsageError) as refusal:
        assert refusal.what and "\x1b" not in str(refusal)
        return "refused"
    if measured.ledger is not None:
        assert sum(measured.ledger.ns(row) for row in measured.ledger.rows) == total(measured.ledger.span), (
            "the ledger does not add up"
        )
    analysis = Analysis(measured)
    document = analysis.document
    assert problems(document) == []
    read_document(to_json(document).encode())
    errors = [(finding.rule, finding.error) for finding in document.findings if finding.state == "error"]
    assert not errors, errors
    assert "\x1b" not in markdown(document), "an escape sequence reaches the report"
    to_json(document).encode()
    drawn = analysis.picture
    assert "Replaying it failed" not in str([version["note"] for version in drawn["versions"]])
    page(document, drawn)
    with suppress(TraceUnreadable):
        analysis.write_annotated(folder / "annotated.json.gz")
    return "document"


def _judge(seed: int, numbers: Sequence[int]) -> list[Verdict]:
    """Verdicts on some mutants, in a process of its own: limited in memory, each mutant in time."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    signal.signal(signal.SIGPROF, _too_slow)
    # a third of the time of a small trace
    setattr(diagnose.pipeline, "load_rules", functools.cache(load_rules))  # noqa: B010
    traces = corpus()
    with tempfile.TemporaryDirectory() as folder:
        return [_verdict(traces, seed, number, Path(folder)) for number in numbers]


def _verdict(traces: Sequence[Json], seed: int, number: int, folder: Path) -> Verdict:
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        return Verdict(number, outcome(mutant(traces, seed, number), folder))
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(
            number,
            "failed",
            f"{type(error).__name__}: {str(error)[:300]} ({Path(last.filename).name}:{last.lineno})",
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"more than {MAX_SECONDS} s")


def verdicts(seed: int, count: int) -> Iterator[Verdict]:
    """Verdicts on the first mutants of a seed, a fresh process for each block of them."""
    for first in range(0, count, BLOCK):
        numbers = range(first, min(first + BLOCK, count))
        with ProcessPoolExecutor(1, get_context("fork")) as pool:
            try:
                yield from pool.submit(_judge, seed, numbers).result()
            except BrokenProcessPool:
                yield Verdict(first, "failed", f"the process died on one of {numbers}")


def main(arguments: Sequence[str]) -> int:
    parsed = parser("fuzz", __doc__)
    parsed.add_argument("--count", type=int, default=1000)
    parsed.add_argument("--seed", type=int, default=None, help="default: the time, printed")
    parsed.add_argument("--only", type=int, default=None, help="the number of one mutant")
    options = parsed.parse_args(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    if options.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(outcome(mutant(corpus(), seed, options.only), Path(folder)))
        return 0
    print(f"seed {seed}, {options.count:,} mutants", flush=True)
    start, counts = time.monotonic(), Counter[str]()
    for verdict in verdicts(seed, options.count):
        counts[verdict.outcome] += 1
        if verdict.outcome == "failed":
            print(f"mutant {verdict.number}: {verdict.reason}", flush=True)
        if verdict.number % 2000 == 1999:
            print(f"{verdict.number + 1:,} mutants after {time.monotonic() - start:.0f} s", flush=True)
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    print(f"seed {seed}: {told} in {time.monotonic() - start:.0f} s")
    return 1 if counts["failed"] else 0
