"""Processor time of a process and its children, and what is made of the samples."""

from __future__ import annotations

import subprocess
import sys

import pytest

from diagnose.run.child.work import used_ns
from diagnose.verify.timing import work_ms

BUSY = "import time\nbegan = time.process_time()\nwhile time.process_time() - began < 0.2: pass\n"


def test_children_count_while_they_live_and_once_they_have_ended() -> None:
    before = used_ns()
    code = f"{BUSY}print(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdout.readline()
        alive = used_ns() - before
        child.stdin.write(b"\n")
        child.stdin.close()
        child.wait()
    assert alive >= 0.19e9
    assert used_ns() - before >= alive


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, 8, 3.0),  # steps 2 to 9 of 2 ticks, from tick 2 to 18: samples at 4 and 16, 18 ms of 6 steps
        (8, 9, None),  # one sample at most
        (0, 30, None),  # samples of less than half of the steps
    ],
)
def test_processor_time_of_the_steps_compared(first: int, last: int, expected: float | None) -> None:
    trial = {"work": [(1, 0), (4, 1_000_000), (10, 4_000_000), (16, 19_000_000), (20, 90_000_000)]}
    assert work_ms(trial, 2, first, last) == expected
    assert work_ms({}, 2, first, last) is None
