"""The garbage collector, threads, cores, allocators and environment of the process."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from diagnose.fixes import environment
from diagnose.fixes.all import environment_of
from diagnose.run.child.interventions.startup import BEFORE

from .trying import ROOT, Apply, run_fresh, told


def test_what_lives_after_the_first_step_is_frozen(apply: Apply) -> None:
    freezing = apply("gc_freeze")
    assert (gc.get_freeze_count(), freezing.held) == (0, 0)
    for number in (1, 2):
        freezing.tick(number)
        assert gc.get_freeze_count() > 1000
    assert told(freezing) == (1, "")
    freezing.remove()
    assert gc.get_freeze_count() == 0


def test_nothing_is_frozen_where_the_collector_is_off(apply: Apply) -> None:
    freezing = apply("gc_freeze")
    gc.disable()
    try:
        freezing.tick(1)
    finally:
        gc.enable()
    assert told(freezing) == (0, "The cyclic garbage collector is switched off.")


def test_the_number_of_threads_is_kept(apply: Apply) -> None:
    before = torch.get_num_threads()
    wanted = before + 1
    keeping = apply("threads", count=wanted)
    torch.set_num_threads(before)
    assert (torch.get_num_threads(), keeping.held) == (wanted, 1)
    torch.set_num_threads(wanted)
    assert told(keeping) == (0, "It is already so.")
    torch.set_num_threads(before)
    keeping.remove()
    assert (torch.get_num_threads(), keeping.held) == (before, 1)


def test_workers_of_loaders_keep_their_one_thread(apply: Apply) -> None:
    before = torch.get_num_threads()
    keeping = apply("threads", count=before + 1)
    worker: dict[str, Any] = {"__name__": "torch.utils.data._utils.worker", "torch": torch}
    exec("torch.set_num_threads(1)", worker)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    keeping.tick(1)
    assert torch.get_num_threads() == before + 1
    torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.live
def test_threads_of_other_libraries_come_from_the_environment() -> None:
    spec = {"name": "threads", "arguments": {"count": 1}, "sites": []}
    changes = environment_of([spec], {"OMP_NUM_THREADS": "1"})
    assert (changes["OMP_NUM_THREADS"], changes["MKL_NUM_THREADS"]) == ("1", "1")
    assert run_fresh("", spec, environment=changes)[1] == [[0, "It is already so."]]
    changes = environment_of([spec], {"OMP_NUM_THREADS": "2"})
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    changes = environment_of([spec], {})
    assert json.loads(changes[BEFORE] or "") == {"OMP_NUM_THREADS": None, "MKL_NUM_THREADS": None}
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]


def test_the_process_is_bound_to_cores(apply: Apply) -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    binding = apply("affinity", cores=[core])
    assert os.sched_getaffinity(0) == {core}
    assert told(binding) == ((1, "") if len(before) > 1 else (0, "It is already so."))
    binding.remove()
    assert os.sched_getaffinity(0) == before
    refused = apply("affinity", cores=[4000])
    assert (refused.held, "4000" in refused.why_not, os.sched_getaffinity(0)) == (0, True, before)


def test_a_process_is_bound_before_it_counts_its_cores() -> None:
    """As by `taskset`, with which the report tells people to start the script."""
    core = min(os.sched_getaffinity(0))
    environment = environment_of([{"name": "affinity", "arguments": {"cores": [core]}}], os.environ)
    site = Path(ROOT) / "diagnose" / "run" / "child" / "site"
    code = "import os; print(os.sched_getaffinity(0), 'torch' in __import__('sys').modules)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment, "PYTHONPATH": str(site), "DIAGNOSE_RUN": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == f"{{{core}}} False\n"


@pytest.fixture
def cores() -> Iterator[set[int]]:
    """Those of the tests, and theirs again afterwards."""
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def test_what_was_bound_before_torch_holds_beside_what_the_script_had(
    cores: set[int], apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = min(cores)
    monkeypatch.setenv("DIAGNOSE_CORES_BEFORE", f"{core},4000")
    assert told(apply("affinity", cores=[core])) == (1, "")
    monkeypatch.setenv("DIAGNOSE_CORES_BEFORE", str(core))
    assert told(apply("affinity", cores=[core])) == (0, "It is already so.")


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder that is searched for allocators; empty."""
    monkeypatch.setattr(environment, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(environment.ctypes.util, "find_library", lambda name: None)
    return tmp_path


@pytest.mark.live
@pytest.mark.long
def test_an_allocator_is_loaded_before_everything_else(libraries: Path) -> None:
    (some_library,) = {
        line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libm.so" in line
    }
    allocator = libraries / "libtcmalloc_minimal.so.4"
    shutil.copy(some_library, allocator)  # no allocator, but a library that can be loaded
    spec = {"name": "allocator", "arguments": {"library": "tcmalloc"}, "sites": []}
    assert environment_of([spec], {"LD_PRELOAD": "/x.so"})["LD_PRELOAD"] == f"{allocator}:/x.so"
    changes = environment_of([spec], {})
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    already = environment_of([spec], {"LD_PRELOAD": str(allocator)})
    assert already == {}
    found = run_fresh("", spec, environment={"LD_PRELOAD": str(allocator)})[1]
    assert found == [[0, "The process uses tcmalloc already."]]


@pytest.mark.live
def test_glibcs_malloc_keeps_what_is_freed() -> None:
    spec = {"name": "allocator", "arguments": {"library": "glibc"}, "sites": []}
    changes = environment_of([spec], {})
    assert (changes["MALLOC_MMAP_MAX_"], changes["MALLOC_TRIM_THRESHOLD_"]) == ("0", "17179869184")
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    already = {"MALLOC_TRIM_THRESHOLD_": "1000000000"}
    assert run_fresh("", spec, environment=already)[1] == [[0, "It is already so."]]


def test_an_allocator_that_is_not_installed(libraries: Path, apply: Apply) -> None:
    assert environment_of([{"name": "allocator", "arguments": {"library": "jemalloc"}}], {}) == {}
    assert told(apply("allocator", library="jemalloc")) == (
        0,
        "jemalloc is not installed; Debian's package is libjemalloc2.",
    )


@pytest.mark.long
def test_openmp_is_told_before_python_starts(libraries: Path, apply: Apply) -> None:
    spec = {"name": "openmp", "arguments": {"wait": "passive", "bind": "close"}, "sites": []}
    changes = environment_of([spec], {})
    assert (changes["OMP_WAIT_POLICY"], changes["OMP_PROC_BIND"]) == ("passive", "close")
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    already = {"OMP_WAIT_POLICY": "passive", "OMP_PROC_BIND": "close"}
    assert run_fresh("", spec, environment=already)[1] == [[0, "It is already so."]]
    assert told(apply("openmp", wait="passive")) == (0, "The environment of the process does not ask for it.")
    assert told(apply("openmp", library="omp")) == (0, "omp is not installed; Debian's package is libomp5.")


@pytest.mark.parametrize(
    ("loaded", "why_not"),
    [("gomp", "torch computes with GNU's OpenMP here, which does not know KMP_BLOCKTIME."), ("iomp5", "")],
)
def test_how_long_threads_stay_awake_is_known_to_some_libraries(
    apply: Apply, monkeypatch: pytest.MonkeyPatch, loaded: str, why_not: str
) -> None:
    monkeypatch.setattr("diagnose.run.child.interventions.startup.is_loaded", lambda name: name == loaded)
    monkeypatch.setenv("DIAGNOSE_ENVIRONMENT_BEFORE", '{"KMP_BLOCKTIME": null, "OMP_PROC_BIND": null}')
    monkeypatch.setenv("KMP_BLOCKTIME", "0")
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    assert told(apply("openmp", block_ms=0)) == (int(not why_not), why_not)
    assert told(apply("openmp", block_ms=0, bind="close")) == (1, "")


def test_segments_that_grow() -> None:
    spec = {"name": "expandable_segments"}
    both = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    assert [environment_of([spec], {})[name] for name in both] == ["expandable_segments:True"] * 2
    given = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False,roundup_power2_divisions:[256:1,512:2]"}
    changes = environment_of([spec], given)
    assert {changes[name] for name in both} == {
        "roundup_power2_divisions:[256:1,512:2],expandable_segments:True"
    }


def test_segments_without_and_with_a_gpu_in_use(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    growing = apply("expandable_segments")
    assert growing.held == 0
    for name, value in environment_of([{"name": "expandable_segments"}], {}).items():
        monkeypatch.setenv(name, value or "")
    assert told(growing) == (0, "The script did not use a CUDA GPU.")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert told(growing) == (1, "")
    monkeypatch.delenv(BEFORE)
    assert told(growing) == (0, "It is already so.")


def test_launches_do_not_block(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment_of([{"name": "launch_blocking_off"}], {}) == {}
    changes = environment_of([{"name": "launch_blocking_off"}], {"CUDA_LAUNCH_BLOCKING": "1"})
    assert changes["CUDA_LAUNCH_BLOCKING"] is None
    monkeypatch.setenv(BEFORE, changes[BEFORE] or "")
    assert told(apply("launch_blocking_off")) == (1, "")


def test_launches_that_the_script_makes_blocking(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "0")
    unblocking = apply("launch_blocking_off")
    assert told(unblocking) == (0, "CUDA_LAUNCH_BLOCKING was not set.")
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    os.environ["DIAGNOSE_TEST"] = "2"
    assert ("CUDA_LAUNCH_BLOCKING" in os.environ, os.environ.pop("DIAGNOSE_TEST")) == (False, "2")
    assert told(unblocking) == (1, "")
