"""fixes.sh starts the script with what was measured to be faster; documents made up."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from diagnose.document.model import Document, FixResult
from diagnose.report.start import start_script, write_start
from diagnose.report.verification import faster_starts, remarks
from tests.report import documents
from tests.report.documents import change


def tried(name: str, change_by: float, arguments: dict[str, Any], **told: Any) -> FixResult:
    """One that changes the step by that share."""
    (first, *_) = documents.verified().verification.tried
    result = documents.changed(first, rule="", title=name, intervention=name, arguments=arguments, **told)
    change(result, verdict="faster" if change_by < 0 else "slower")
    change(result.change, change=change_by, low=change_by - 0.01, high=change_by + 0.01)
    return result


def verified(folder: Path, *results: FixResult, searched: bool = False) -> Document:
    document = documents.verified()
    change(document.run, cwd=str(folder), target="train.py", argv=["train.py", "--epochs", "two words"])
    document.verification.tried = list(results)
    document.verification.together = None
    document.verification.searched = searched
    return document


JEMALLOC = tried(
    "allocator", -0.1, {"library": "jemalloc"}, environment={"LD_PRELOAD": "/a b.so", "KMP_AFFINITY": None}
)
PASSIVE = tried("openmp", -0.2, {"wait": "passive"}, environment={"OMP_WAIT_POLICY": "passive"})
CORES = tried("affinity", -0.05, {"cores": [0, 1]})
LOADER = tried("dataloader", -0.3, {"num_workers": 2}, environment={"OMP_WAIT_POLICY": "passive"})


def test_the_best_of_several_that_were_measured_by_themselves(tmp_path: Path) -> None:
    document = verified(tmp_path, JEMALLOC, PASSIVE, LOADER)
    assert faster_starts(document) == [PASSIVE]
    assert start_script(document).splitlines()[2:] == [
        "#   openmp(wait=passive): faster by 19–21 %",
        f"cd {tmp_path} || exit",
        "export OMP_WAIT_POLICY=passive",
        "exec python train.py --epochs 'two words' \"$@\"",
    ]


def test_all_that_a_search_kept(tmp_path: Path) -> None:
    both = documents.changed(
        PASSIVE,
        beside=["allocator:library=jemalloc"],
        environment={**JEMALLOC.environment, **PASSIVE.environment},
    )
    cores = documents.changed(CORES, beside=["a", "b"], environment=both.environment)
    document = verified(tmp_path, JEMALLOC, both, cores, searched=True)
    assert start_script(document).splitlines()[5:] == [
        f"cd {tmp_path} || exit",
        "unset KMP_AFFINITY",
        "export LD_PRELOAD='/a b.so'",
        "export OMP_WAIT_POLICY=passive",
        "exec taskset --cpu-list 0,1 python train.py --epochs 'two words' \"$@\"",
    ]
    assert any(
        "fixes.sh` starts the script with allocator(library=jemalloc)" in said for said in remarks(document)
    )


def test_the_file_comes_and_goes(tmp_path: Path) -> None:
    document = verified(tmp_path, PASSIVE)
    write_start(document, tmp_path)
    assert subprocess.run(["sh", "-n", tmp_path / "fixes.sh"], check=False).returncode == 0
    write_start(verified(tmp_path, LOADER), tmp_path)
    assert not (tmp_path / "fixes.sh").exists()
