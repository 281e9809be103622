"""A script that dies of a lack of memory is told so, with the line and the step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from diagnose.pipeline import analyse
from diagnose.run.child.memory.memory_errors import fatal_memory_error, gpu_out_of_memory_count
from diagnose.run.child.places import Places

from ..running import SCRIPTS, Recorded, run_plain

Run = Callable[..., Recorded]
HERE = str(Path(__file__).parent)
TOO_MUCH = 1 + next(
    number
    for number, line in enumerate((SCRIPTS / "out_of_memory.py").read_text().splitlines())
    if line.endswith("# too much")
)


@pytest.mark.parametrize(
    ("step", "settings", "ticks", "when"),
    [
        pytest.param(1, {}, 0, "in step 1", marks=pytest.mark.long),  # before any step has ended
        (3, {}, 2, "in step 3"),  # while the early recording runs
        pytest.param(100, {"keep_going": True}, None, "after the recorded steps", marks=pytest.mark.long),
    ],
)
def test_the_line_and_the_step(
    run_script: Run, step: int, settings: dict[str, bool], ticks: int | None, when: str
) -> None:
    run = run_script("out_of_memory", str(step), **settings)
    assert (run.outcome.ended, run.outcome.exit_code) == ("crashed", 1)
    error = run.facts["memory_error"]
    assert (error["device"], error["tick_count"], error["function"]) == ("cpu", ticks, "forward")
    assert (error["file"], error["line"]) == (str(SCRIPTS / "out_of_memory.py"), TOO_MUCH)
    assert "4000000000000000 bytes" in error["message"]  # floats of four bytes

    document = analyse(run.folder)
    (finding,) = [one for one in document.findings if one.rule == "out-of-memory"]
    assert (finding.state, finding.group) == ("fires", "plan")
    assert [culprit.line for culprit in finding.culprits] == [TOO_MUCH]
    assert f"the machine's memory, {when}" in finding.fix.how
    if step == 1:
        assert document.headline.startswith("Memory ran out before a complete step was recorded (")
        assert document.headline.endswith(f"out_of_memory.py:{TOO_MUCH})")
        assert (document.badge, document.doubt) == ("", "")
    else:
        number = 1 + [row.rule for row in document.plan].index("out-of-memory")
        assert (document.badge, document.doubt) == (
            "out of memory",
            f"Memory ran out (the machine's memory, {when}): only the steps until then were recorded. "
            f"Fix {number} says what helps.",
        )


@pytest.mark.long
def test_what_filled_it_is_told_and_the_advice_runs(run_script: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # what is freed goes back at once: how much the C library keeps in pieces differs from run to run
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    run = run_script("fills_memory", "300")
    assert (run.outcome.ended, run.outcome.exit_code) == ("crashed", 1)
    document = analyse(run.folder)
    (peak,) = document.memory
    parts = {part.part: part.bytes for part in peak.parts}
    assert peak.during == "ran_out" and 0.8 < parts["activations"] / peak.tensors_bytes < 1
    # 40 blocks of two layers with their biases
    assert parts["parameters"] == 40 * 4 * (128 * 512 + 512 + 512 * 128 + 128)
    (finding,) = [one for one in document.findings if one.rule == "out-of-memory"]
    assert finding.fix.title == "Keep fewer activations" and finding.culprits[0].function == "forward"
    assert "checkpoint(block, x, use_reentrant=False)" in finding.fix.how
    for followed in ("checkpoint", "accumulate"):
        assert run_plain("fills_memory", "300", followed).stdout == "trained\n"


def test_the_scripts_own_traceback_is_untouched(run_script: Run) -> None:
    assert run_script("out_of_memory", "1").stderr == run_plain("out_of_memory", "1").stderr


@pytest.mark.long
def test_a_script_that_dies_of_something_else(run_script: Run) -> None:
    run = run_script("ending", "raise", "3")
    assert run.facts["memory_error"] is None
    assert "memory" not in analyse(run.folder).headline


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "device"),
    [
        (MemoryError(), "cpu"),
        (
            RuntimeError(
                "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                "you tried …"
            ),
            "cpu",
        ),
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "cuda"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), "cuda"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), None),
        (ValueError("CUDA out of memory"), None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_counts_as_a_lack_of_memory(error: Exception, device: str | None) -> None:
    told = fatal_memory_error(raised(error), Places(HERE, HERE), 7)
    assert (told["device"] if told else None) == device
    if told:
        assert (told["tick_count"], told["function"], told["file"]) == (7, "raised", __file__)
        assert told["message"] == str(error)


def test_an_error_that_follows_from_it() -> None:
    out_of_memory = raised(MemoryError("too much"))
    told = fatal_memory_error(raised(RuntimeError("the epoch failed"), out_of_memory), Places(HERE, HERE), 0)
    assert told is not None and told["message"] == "too much"
    assert fatal_memory_error(None, Places(HERE, HERE), 0) is None


def test_a_script_without_a_gpu_is_not_asked_for_its_memory() -> None:
    if torch.cuda.is_initialized():
        pytest.skip("CUDA is in use here")
    assert gpu_out_of_memory_count() is None
    assert not torch.cuda.is_initialized()
