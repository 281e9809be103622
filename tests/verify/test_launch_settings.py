"""What is tried of a script's start follows from its facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.errors import known_name
from diagnose.fixes import environment
from diagnose.fixes.all import FIXES, check, variables_of
from diagnose.verify import launch_settings as settings

FACTS: dict[str, Any] = {"thread_count": 4, "cpu_core_count": 4, "libraries": ["libgomp"]}


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder that is searched for libraries; empty. One node."""
    monkeypatch.setattr(environment, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(environment.ctypes.util, "find_library", lambda name: None)
    monkeypatch.setattr(settings, "_NODES", str(tmp_path / "node*/cpulist"))
    return tmp_path


def titles(facts: dict[str, Any], *allowed: str) -> list[str]:
    found = settings.launch_settings(facts, allowed)
    for candidate in found:
        assert known_name(candidate.intervention, FIXES, "")
        check(candidate.intervention, candidate.arguments, "")
    return [candidate.title for candidate in found]


OPENMP = ["openmp:bind=close,places=cores", "openmp:wait=active", "openmp:wait=passive"]


def test_how_threads_wait_and_where_they_run(libraries: Path) -> None:
    assert titles(FACTS) == OPENMP
    assert titles(FACTS | {"thread_count": 1}) == []
    assert titles(FACTS | {"accelerator": {"initialized": True}}) == []
    bound = FACTS | {"environment_variables": {"GOMP_CPU_AFFINITY": "0-3", "OMP_WAIT_POLICY": "active"}}
    assert titles(bound) == []


def test_numbers_of_threads_change_the_last_digits(libraries: Path) -> None:
    assert titles(FACTS, "numerics") == [*OPENMP, "threads:count=2"]
    assert titles(FACTS | {"thread_count": 8}, "numerics")[3:] == ["threads:count=4", "threads:count=2"]


def test_allocators_that_are_installed_and_not_there_already(libraries: Path) -> None:
    (libraries / "libjemalloc.so.2").touch()
    on_gpu = FACTS | {"accelerator": {"initialized": True}}
    assert titles(on_gpu) == ["allocator:library=jemalloc"]
    assert titles(on_gpu | {"libraries": ["libgomp", "libtcmalloc_minimal"]}) == []


def test_another_openmp(libraries: Path) -> None:
    (libraries / "libiomp5.so").touch()
    assert titles(FACTS) == ["openmp:library=iomp5", *OPENMP]
    assert titles(FACTS | {"libraries": ["libgomp", "libiomp5"]}) == OPENMP


def test_one_of_several_nodes(libraries: Path) -> None:
    for number, cores in enumerate(("0-1,4", "2-3,5")):
        (libraries / f"node{number}").mkdir()
        (libraries / f"node{number}" / "cpulist").write_text(f"{cores}\n")
    found = settings.launch_settings(FACTS | {"cpu_core_count": 6}, ())
    assert [candidate.arguments for candidate in found][-1] == {"cores": [0, 1, 4]}
    assert titles(FACTS | {"cpu_core_count": 3}) == OPENMP  # bound to one already


def test_onnx_runtime_is_tried_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, last in ((("onnxruntime", "onnxscript"), "onnxruntime"), (("onnxruntime",), "torchscript")):
        monkeypatch.setattr(settings, "find_spec", lambda name, there=there: name if name in there else None)
        assert settings.ways_to_serve(FACTS, ("numerics",))[-1].title == last


def test_other_forms_of_a_model_are_tried_where_digits_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    assert settings.ways_to_serve(FACTS, ()) == []
    assert settings.ways_to_serve(FACTS | {"accelerator": {"initialized": True}}, ("numerics",)) == []
    found = settings.ways_to_serve(FACTS, ("numerics",))
    assert [candidate.title for candidate in found] == [
        "quantize",
        "autocast:dtype=bfloat16",
        "compile",
        "compile:mode=max-autotune",
        "torchscript",
    ]
    assert {candidate.safety for candidate in found} == {"numerics"}
    for candidate in found:
        check(candidate.intervention, candidate.arguments, "")


def test_two_libraries_are_both_loaded(libraries: Path) -> None:
    for name in ("libjemalloc.so.2", "libiomp5.so"):
        (libraries / name).touch()
    specs = [
        {"name": "allocator", "arguments": {"library": "jemalloc"}},
        {"name": "openmp", "arguments": {"library": "iomp5", "bind": "close"}},
    ]
    assert variables_of(specs, {"KMP_AFFINITY": "compact"}) == {
        "LD_PRELOAD": f"{libraries / 'libiomp5.so'}:{libraries / 'libjemalloc.so.2'}",
        "OMP_PROC_BIND": "close",
        "KMP_AFFINITY": None,
    }
