"""Several recordings of one run in one report: a trace, tables of Nsight Compute, profiles of the CPU."""

from __future__ import annotations

import json
import marshal
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from tests.trace.build import encoded, event, kernel, launch
from tests.trace.test_nsight import export

GEMM = "void at::native::gemm<float>(float*)"
ADD = "void at::native::add<float>(float*)"
NCU = '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'


def trace(path: str = "run.json") -> str:
    """Ten steps of 1 ms: one kernel of 0.7, one of 0.1."""
    events: list[dict[str, Any]] = []
    for step in range(10):
        at, number = 1000 * step, 10 * step + 1
        events += [
            event(f"ProfilerStep#{step}", at, 1000, "user_annotation"),
            launch(at + 10, 5, number),
            launch(at + 20, 5, number + 1),
            kernel(GEMM, at + 50, 700, number),
            kernel(ADD, at + 750, 100, number + 1),
        ]
    Path(path).write_bytes(encoded(*events))
    return path


def ncu(name: str, compute: float, memory: float, path: str = "ncu.csv") -> str:
    metrics = {"Compute (SM) Throughput": compute, "Memory Throughput": memory}
    rows = [f'"0","7","{name}","{metric}","%","{value}"\n' for metric, value in metrics.items()]
    Path(path).write_text(NCU + "".join(rows))
    return path


def profile(path: str = "train.prof") -> str:
    """main takes 3 of 4 s, load 1."""
    main, load = ("train.py", 5, "main"), ("data.py", 9, "load")
    costs = {main: (1, 1, 3.0, 4.0, {}), load: (9, 9, 1.0, 1.0, {main: (9, 9, 1.0, 1.0)})}
    Path(path).write_bytes(marshal.dumps(costs))
    return path


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("out/report.json").read_text())
    return found


def test_the_dominant_kernel_is_told_with_what_nsight_compute_measured() -> None:
    assert cli.main([trace(), ncu(GEMM, 31, 88), "--out", "out"]) == 0
    found = document()
    finding = next(one for one in found["findings"] if one["rule"] == "dominant-kernel")
    assert finding["state"] == "fires"
    assert finding["fix"]["how"].startswith(
        "Nsight Compute measured what limits it: memory (compute 31 %, memory 88 % of what the GPU can do)."
    )
    assert [(row["name"], row["limited_by"]) for row in found["kernels"]] == [
        ("gemm", "memory"),
        ("add", None),
    ]
    page = Path("out/report.md").read_text()
    assert "Limited by" in page
    assert "measured for 1 of the 2 costliest kernels" in page
    assert "Limited by" in Path("out/report.html").read_text()


def test_names_are_compared_up_to_template_arguments() -> None:
    assert cli.main([trace(), ncu("gemm", 80, 20), "--out", "out"]) == 0
    assert document()["kernels"][0]["limited_by"] == "compute"


def test_a_profile_of_the_cpu_has_a_section_and_changes_no_number() -> None:
    assert cli.main([trace(), "--out", "alone"]) == 0
    assert cli.main([profile(), trace(), "--out", "out"]) == 0  # in any order
    found, alone = document(), json.loads(Path("alone/report.json").read_text())
    (beside,) = found["beside"]
    assert [(row["function"], row["share"]) for row in beside["rows"]] == [("main", 0.75), ("load", 0.25)]
    assert (found["ledger"], found["plan"]) == (alone["ledger"], alone["plan"])
    for name in ("report.md", "report.html"):
        shown = Path("out", name).read_text()
        assert "Beside this recording" in shown
        assert "main (train.py:5)" in shown
        assert "Beside this recording" not in Path("alone", name).read_text()


def test_any_number_of_them_and_options_between(capsys: pytest.CaptureFixture[str]) -> None:
    other = ncu(ADD, 5, 5, "more.csv")
    arguments = [trace(), ncu(GEMM, 90, 10), "--out", "out", other, profile(), profile("b.prof")]
    assert cli.main(["--format", "json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["limited_by"] for row in found["kernels"]] == ["compute", "latency"]
    assert [one["file"] for one in found["beside"]] == ["train.prof", "b.prof"]


def test_of_a_torch_trace_and_an_nsight_export_each_has_its_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    export(Path())
    assert cli.main(["run.sqlite", trace(), profile(), "--out", "out"]) == 0
    assert "run.sqlite has a report of its own: clocks of two recordings" in capsys.readouterr().err
    assert document()["beside"]
    assert "Nsight Systems" in Path("out/of-run/report.md").read_text()


@pytest.mark.parametrize(
    ("files", "saw"),
    [
        (("a.json", "b.json"), "2 traces, and not one that is torch's"),
        (("train.prof", "b.prof"), "no trace is among these files"),
        (("a.json", "train.py"), "train.py is no recording of the same run"),
        (("a.json", "nothing.csv"), "takes no arguments: nothing.csv"),
        (("a.json", "damaged.prof"), "damaged or cut"),
    ],
)
def test_what_cannot_be_told_together_is_refused_in_words(
    files: tuple[str, ...], saw: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("a.json", "b.json"):
        trace(path)
    profile()
    profile("b.prof")
    Path("train.py").write_text("import torch\n")
    Path("damaged.prof").write_bytes(marshal.dumps({("a.py", 1, "f"): 3}))
    assert cli.main([*files, "--out", "out"]) == 2
    assert saw in capsys.readouterr().err
    assert not Path("out").exists()
