"""One recording at a time with torch's profiler."""

from __future__ import annotations

import subprocess
import sys

RECORDED = """
import gc
import psutil, torch
from diagnose.run.child.accelerator import Activities
from diagnose.run.child.memory.heap_as_it_was import HeapAsItWas
from diagnose.run.child.recording.marks import Marks
from diagnose.run.child.recording.recorder import Recording

class Nothing:
    def __getattr__(self, name):
        return lambda *given, **named: None

gc.disable()
numbers, process = torch.ones(4), psutil.Process()
activities, heap = Activities(device=False), HeapAsItWas()
heap.count(page_faults=5000)  # so that what is freed goes back, and can be seen
for _ in range(3):
    recording = Recording(Nothing(), Nothing(), activities, heap, stacks=False)
    recording.start(None, lambda: None)
    for _ in range(30_000):
        numbers + numbers
    recording.stop()
    print(process.memory_info().rss)
    recording.discard()
    print(process.memory_info().rss)
"""


def test_a_recording_that_is_discarded_leaves_no_memory_behind() -> None:
    """Some kB an event, which torch keeps in a cycle of references; nobody may collect garbage for long."""
    command = [sys.executable, "-c", RECORDED]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, after_first, _, _, third, after_third = map(int, told.split())
    assert third - after_first < 1.5 * (first - after_first), "no more than the first one"
    assert after_third - after_first < 0.5 * (first - after_first)
