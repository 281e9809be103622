"""How a script may be started otherwise, or a model served, as far as the facts leave room: what
`verify --search` tries beside the plan's fixes.

What each may gain nobody can tell beforehand, so none is advised: they are tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from diagnose.fixes.environment import installed
from diagnose.verify.candidates import Candidate

_ALLOCATORS = ("jemalloc", "tcmalloc")
_OPENMP_LIBRARIES = ("iomp5", "omp")
_ONNX = ("onnxruntime", "onnxscript")  # torch exports with the second
_NODES = "/sys/devices/system/node/node[0-9]*/cpulist"


def ways_to_serve(facts: Mapping[str, Any], allowed: Collection[str]) -> list[Candidate]:
    """Other forms of models that only answer, on processors: all change the last digits."""
    if "numerics" not in allowed or _uses_gpu(facts):
        return []
    exported = [_candidate("onnxruntime", "numerics")] if all(map(find_spec, _ONNX)) else []
    return [
        _candidate("quantize", "numerics"),
        _candidate("autocast", "numerics", dtype="bfloat16"),
        _candidate("compile", "numerics"),
        _candidate("compile", "numerics", mode="max-autotune"),
        _candidate("torchscript", "numerics"),
        *exported,
    ]


def launch_settings(facts: Mapping[str, Any], allowed: Collection[str]) -> list[Candidate]:
    """From facts.json; ``allowed`` names "numerics" for such as change the last digits."""
    tried = [*_allocators(facts)]
    if not _uses_gpu(facts):  # else the host's threads hardly matter
        tried += [*_openmp(facts), *_nodes(facts)]
        if "numerics" in allowed:
            tried += _threads(facts)
    return tried


def _allocators(facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """Those that are installed, where the process has libc's."""
    if _loaded(facts) & {
        f"lib{name}" for name in (*_ALLOCATORS, "tcmalloc_minimal", "mimalloc", "tbbmalloc")
    }:
        return
    yield from (_candidate("allocator", library=name) for name in _ALLOCATORS if installed(name))


def _openmp(facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """How threads wait, where they run and whose they are; nothing for a single one."""
    if (facts.get("thread_count") or 1) < 2:
        return
    environment = facts.get("environment_variables") or {}
    if not _loaded(facts) & {f"lib{name}" for name in _OPENMP_LIBRARIES}:
        library = next(filter(installed, _OPENMP_LIBRARIES), None)
        if library:
            yield _candidate("openmp", library=library)
    if "OMP_PROC_BIND" not in environment and "GOMP_CPU_AFFINITY" not in environment:
        yield _candidate("openmp", bind="close", places="cores")
    if "OMP_WAIT_POLICY" not in environment and "KMP_BLOCKTIME" not in environment:
        yield _candidate("openmp", wait="active")
        yield _candidate("openmp", wait="passive")


def _nodes(facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """The cores of one NUMA node, whose memory is then used too: what `numactl` does."""
    usable = facts.get("cpu_core_count") or 0
    nodes = [cores_in(Path(path).read_text(encoding="ascii")) for path in sorted(glob(_NODES))]
    if len(nodes) > 1 and usable > len(nodes[0]):
        yield _candidate("affinity", cores=nodes[0])


def _threads(facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """As many as there are cores, and half of that: one for each of two hyper-threads."""
    now, cores = facts.get("thread_count"), facts.get("cpu_core_count") or 1
    yield from (
        _candidate("threads", "numerics", count=count)
        for count in (cores, cores // 2)
        if count and count != now
    )


def _candidate(name: str, safety: str = "exact", **arguments: Any) -> Candidate:
    """With a title of its own, as `--try` takes it."""
    given = ",".join(f"{argument}={value}" for argument, value in arguments.items())
    title = f"{name}:{given}" if given else name
    return Candidate("", title, name, arguments, (), safety)


def cores_in(told: str) -> list[int]:
    """`0-3,8` as Linux writes it: 0, 1, 2, 3 and 8."""
    spans = [span.partition("-") for span in told.strip().split(",") if span]
    return [core for first, _, last in spans for core in range(int(first), int(last or first) + 1)]


def _uses_gpu(facts: Mapping[str, Any]) -> bool:
    return bool((facts.get("accelerator") or {}).get("initialized"))


def _loaded(facts: Mapping[str, Any]) -> set[str]:
    return set(facts.get("libraries") or ())
