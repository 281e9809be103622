"""What fills memory, added up from a look made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.document.memory import memory_peaks
from diagnose.measure.memory_peak import Curve, Kept, MadeAtPeak, MemoryLook, seen_memory
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources
from diagnose.report import memory
from diagnose.report.markdown import markdown
from diagnose.report.page import page
from diagnose.report.page.memory_curve import memory_drawing
from diagnose.report.page.strip import LEFT, RIGHT, TOP, WIDTH
from tests.report import documents

FILE = "/work/train.py"


def origin(part: str, line: int = -1, module: str = "", operator: str = "") -> dict[str, Any]:
    known = line > 0
    return {
        "file": FILE if known else "",
        "line": line,
        "function": "main" if known else "",
        "part": part,
        "module": module,
        "operator": operator,
    }


# Two steps, of ten events each: 0 to 9 and 10 to 19. A row: bytes, begin, end, origin, device.
ORIGINS = [
    origin("parameters", module="fc.weight"),
    origin("state", module="fc.weight"),
    origin("inputs", 10),
    origin("forward", 20, "fc", "aten.addmm.default"),
    origin("forward", 21, "act", "aten.relu.default"),
    origin("backward", 30, operator="aten.mm.default"),
    origin("gradients", 30, "fc.weight"),
    origin("elsewhere", 25, operator="aten.mse_loss.default"),
    origin("elsewhere", 40, operator="aten.mean.default"),
    origin("before"),
]
STEP = [  # bytes, begin, end within the step, origin
    (100, 0, 9, 2),  # the batch
    (400, 1, 3, 3),  # gone before the backward
    (500, 2, 8, 4),  # kept for it
    (8, 4, 7, 7),  # of the loss: goes with the backward
    (600, 5, 6, 5),  # for a while in the backward
]


def look(device: str = "cpu", **more: Any) -> dict[str, Any]:
    rows = [[1000, -1, -1, 0, 0], [2000, -1, -1, 1, 0], [50, -1, -1, 9, 0]]
    for start in (0, 10):
        rows += [[size, start + begin, start + end, at, 0] for size, begin, end, at in STEP]
    rows.append([4, 8, -1, 8, 0])  # made at the end of the first step, and kept
    told = {
        "devices": [device],
        "origins": ORIGINS,
        "storages": rows,
        "step_ends": [9, 20],
        "resident_bytes": 10_000,
        "allocators": {},
    }
    return told | more


def test_the_peak_is_in_the_second_backward() -> None:
    """1000 + 2000 + 50 from before, 4 kept, and of the step 100 + 500 + 8 + 600; the process has 10,000."""
    (peak,) = MemoryLook(look()).peaks
    assert (peak.device, peak.tensors, peak.during, peak.total) == ("cpu", 4262, "backward", 10_000)
    assert [(part.part, part.bytes) for part in peak.parts] == [
        ("outside", 5738),
        ("state", 2000),
        ("parameters", 1000),
        ("backward", 600),
        ("activations", 508),
        ("inputs", 100),
        ("before", 50),
        ("elsewhere", 4),
    ]
    assert [(one.line, one.module, one.part, one.bytes) for one in peak.holders] == [
        (-1, "fc.weight", "state", 2000),
        (-1, "fc.weight", "parameters", 1000),
        (30, "", "backward", 600),
        (21, "act", "activations", 500),
        (10, "", "inputs", 100),
        (-1, "", "before", 50),
    ]


def test_the_operator_that_made_the_tensor_at_the_peak() -> None:
    """The second of two steps, in which it is the first of two of its name; other operators do not count."""
    assert MemoryLook(look()).peaks[0].made_by == MadeAtPeak("aten::mm", True, 0.0)
    told = look()
    told["storages"].append([1, 13, 14, 5, 0])  # another one before it
    assert MemoryLook(told).peaks[0].made_by == MadeAtPeak("aten::mm", True, 0.5)
    told["storages"].append([9_000, 19, 20, 2, 0])  # a batch, which no operator made
    assert MemoryLook(told).peaks[0].made_by is None


def test_what_stays_after_its_step() -> None:
    assert MemoryLook(look()).kept() == [Kept(FILE, 40, "main", 4, 1)]


def test_on_an_accelerator_the_rest_is_the_allocators() -> None:
    """At the end 3054 bytes are in tensors that were seen and 3100 in all; 8192 are reserved."""
    end = {"allocated": 3100, "most_allocated": 5000, "reserved": 8192}
    (peak,) = MemoryLook(look("cuda:0", allocators={"cuda:0": {"begin": None, "end": end}})).peaks
    parts = {part.part: part.bytes for part in peak.parts}
    assert parts["unseen"] == 46 and parts["cached"] == 8192 - 4262 - 46 and "outside" not in parts
    assert peak.total == 8192


def test_without_a_backward_nothing_is_kept_for_one() -> None:
    told = look()
    told["storages"] = [row for row in told["storages"] if row[3] not in (5, 6)]
    (peak,) = MemoryLook(told).peaks
    assert {part.part: part.bytes for part in peak.parts}["forward"] == 900
    assert peak.during == "forward"


@pytest.mark.parametrize(
    "damage",
    [{"storages": [[1, 2]]}, {"storages": "no"}, {"origins": 3}, {"devices": None}, {"step_ends": None}],
)
def test_a_file_that_is_none_of_ours_is_left_out(damage: dict[str, Any]) -> None:
    told = look() | damage
    recording = Recording(source=Path(), timeline=None, memory=told)
    seen = seen_memory(recording)
    assert seen is None
    del told["allocators"]
    assert seen_memory(recording) is None


def test_the_way_to_the_peak() -> None:
    """Of the second step: 3054 are there, then 100, 400 and 500 come, 400 go; the loss's 8, the backward's 600
    and their end, then 8, 500 and 100 go. Nothing is made after the backward, which lasts to the step's end.
    """
    (peak,) = MemoryLook(look()).peaks
    levels = [3154, 3554, 4054, 3654, 3662, 4262, 3662, 3654, 3154, 3054, 3054]
    assert peak.curve == Curve(levels, 5, (5, 10))
    gone = {**look(), "ran_out": True}
    assert MemoryLook(gone).peaks[0].curve is None


def test_the_report_says_what_would_lower_it() -> None:
    """A state of a gigabyte: 8 bits a number leave 26 % of it."""
    told = look()
    told["storages"][1][0] = 2**30
    recording = Recording(source=Path(), timeline=None, memory=told)
    document = documents.sick()
    documents.change(
        document, memory=memory_peaks(seen_memory(recording), Sources(recording), forward_ms=3.0)
    )
    (remedy,) = document.memory[0].remedies
    assert remedy.name == "eight_bits" and remedy.costs_ms is None
    assert remedy.frees_bytes == 2**30 - round(0.26 * 2**30)
    *_, lower = memory.tables(document)
    assert lower.rows == [
        ("An optimizer with a state of 8 bits (torchao, bitsandbytes)", "–", "266 MiB", "758 MiB", "–")
    ]
    (small,) = memory_peaks(MemoryLook(look()), Sources(recording))
    assert small.remedies == []


def test_the_report_shows_it_whole() -> None:
    recording = Recording(source=Path(), timeline=None, run={"cwd": "/work"}, memory=look())
    document = documents.sick()
    documents.change(document, memory=memory_peaks(seen_memory(recording), Sources(recording)))
    parts, holders = memory.tables(document)
    assert parts.title == "Tensors hold at most 4.16 KiB of the CPU's memory, in the backward."
    assert parts.rows[-1] == ("All", "9.77 KiB", "100 %")
    assert ("train.py:21", "Activations (`act`)", "500 bytes", "12 %", "1") in holders.rows
    assert ("fc.weight", "State of the optimizer", "1.95 KiB", "47 %", "1") in holders.rows
    report = markdown(document)
    assert "<b>What fills memory</b>" in report and "train.py:21" in report
    assert "Tensors hold at most" in page(document, None) and "fc.weight" in page(document, None)


def test_the_page_draws_it() -> None:
    """The peak of 4,262 bytes is as high as the drawing; the backward begins there, at the sixth of eleven."""
    document = documents.sick()
    documents.change(document, memory=memory_peaks(MemoryLook(look()), Sources(Recording(Path(), None))))
    drawing = memory_drawing(document.memory[0])
    assert drawing is not None and drawing.peak_size == "4.16 KiB"
    assert drawing.peak == (LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP)
    assert drawing.backward == (drawing.peak[0], WIDTH - RIGHT)
    assert "What tensors hold over a step, at most 4.16 KiB" in page(document, None)
