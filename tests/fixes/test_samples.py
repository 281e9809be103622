"""Bundled slow scripts, patched where their recordings say: they run, and
exact fixes leave the loss as it was.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import to_builtins

from diagnose.fixes.patch.diff import apply, fixes_diff
from diagnose.pipeline import analyse
from tests.report.documents import change

SAMPLES = Path(__file__).parents[2] / "sample_traces"
FIXES = {
    "input-wait": ("input-wait-no-workers", "dataloader", {"num_workers": 2, "persistent_workers": True}),
    "epoch-start": ("input-wait-epoch-start", "dataloader", {"persistent_workers": True}),
    "anomaly": ("anomaly-mode", "anomaly_mode_off", {}),
    "threads": ("threads-oversubscribed", "threads", {"count": 2}),
    "optimizer-heavy": ("optimizer-heavy", "optimizer", {"fused": True}),
}
LOSS = {"abs": 2e-3}  # threads and the fused optimizer add in another order; the rest is exact
ALWAYS = {"input-wait"}
INEXACT = {"threads", "optimizer-heavy"}


@pytest.mark.parametrize(
    "sample", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.long) for name in FIXES]
)
def test_a_patched_sample_runs_to_the_same_loss(sample, tmp_path):
    rule, intervention, arguments = FIXES[sample]
    document = analyse(SAMPLES / sample / "sick")
    finding = next(one for one in document.findings if one.rule == rule)
    change(finding.fix, intervention=intervention, arguments=arguments)
    folder = shortened(SAMPLES / sample / "sick.py", tmp_path)
    patches = fixes_diff([to_builtins(finding)], folder, document.run.target)
    assert (patches.patched, patches.unpatched) == ((rule,), {})
    before = last_loss(folder)
    apply(patches, folder)
    after = last_loss(folder)
    assert after == (pytest.approx(before, **LOSS) if sample in INEXACT else before)


def shortened(script, folder):
    """A folder with the script at a few steps."""
    text, count = re.subn(r"^(STEPS|EPOCHS) = \d+$", r"\1 = 3", script.read_text(), flags=re.MULTILINE)
    assert count == 1
    (folder / "sick.py").write_text(text)
    return folder


def last_loss(folder):
    done = subprocess.run(
        [sys.executable, "-W", "error", "sick.py"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(re.search(r"last loss (\S+)", done.stdout)[1])
