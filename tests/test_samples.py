"""The bundled recordings and their scripts are diagnosed as expected.toml says: the planted line on top, nothing on a healthy twin."""

import json
import subprocess
import sys

import pytest

from diagnose.analyse import analyse
from diagnose.report.markdown import markdown
from sample_traces.samples import FOLDER, SAMPLES

LIVE = [sample for sample in SAMPLES if str(sample) in ("input-wait/sick", "healthy/gan")]


def check(document, sample):
    """Top of the plan is the planted rule at the planted line; a healthy script has no plan."""
    if not sample.rule:
        assert document["plan"] == []
        return
    top = document["plan"][0]
    assert (top["rule"], top["where"]) == (sample.rule, f"{sample.script.name}:{sample.line_number}")


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_recorded_sample(sample):
    check(analyse(sample.run), sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_no_stable_rule_fires_falsely(sample):
    fired = [one for one in analyse(sample.run)["findings"] if one["state"] == "fires" and one["group"] == "plan"]
    assert {one["rule"] for one in fired if one["status"] == "stable"} <= {sample.rule}


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_recording_fits_the_script(sample):
    """Every recorded line of the script still has a text, so the report shows sources."""
    lines = [line for line in analyse(sample.run)["lines"] if line["file"] == sample.script.name]
    assert lines and all(line["source"] for line in lines)


def test_the_readme_quotes_the_report_of_a_recorded_sample():
    report = markdown(analyse(FOLDER / "input-wait" / "sick"))
    readme = (FOLDER.parent / "README.md").read_text()
    quoted = [line.lstrip("># ") for line in readme.splitlines() if line.startswith("> ")]
    assert quoted
    assert [line for line in quoted if line not in report] == []


def test_every_folder_has_expectations():
    assert {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"} == {sample.case for sample in SAMPLES}


@pytest.mark.parametrize("sample", LIVE, ids=str)
def test_live_sample(sample, tmp_path):
    command = [sys.executable, "-m", "diagnose", "--out", str(tmp_path / "out"), str(sample.script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=sample.script.parent)
    assert done.returncode == 0, done.stderr
    check(json.loads((tmp_path / "out" / "report.json").read_text()), sample)
    assert (tmp_path / "out" / "report.md").read_text().strip()
