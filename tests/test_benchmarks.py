"""Benchmarks are commands, which no test times; but each still finds what it imports, and the
documentation names only those that there are.
"""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, USAGE_ERROR, main

ROOT = Path(__file__).parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("docs", "sample_traces", "rules") for path in (ROOT / folder).glob("*.md")),
]
PACKAGES = {path.parent.name: path for path in (ROOT / "benchmarks").glob("*/__init__.py")}
MODULES = {
    name.replace("_", "-"): path
    for name, path in ({path.stem: path for path in (ROOT / "benchmarks").glob("*.py")} | PACKAGES).items()
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_benchmark_can_be_started_and_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    said = capsys.readouterr().out
    assert not ended.value.code
    assert said.startswith(f"usage: python -m benchmarks {name} ")
    assert importlib.import_module(f"benchmarks.{name.replace('-', '_')}").__doc__.strip() in said


def test_every_module_that_says_how_to_start_it_is_in_the_table():
    told = {name for name, path in MODULES.items() if f"python -m benchmarks {name}" in path.read_text()}
    assert told == set(BENCHMARKS)


def test_without_a_name_all_are_listed(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in BENCHMARKS)


def test_a_name_that_is_mistyped_is_answered_with_the_nearest(capsys):
    assert main(["acuracy"]) == USAGE_ERROR
    assert "did you mean accuracy?" in capsys.readouterr().err


def test_the_documentation_names_only_benchmarks_and_targets_that_there_are():
    text = "\n".join(
        path.read_text() for path in [*PAGES, *(ROOT / "diagnose").rglob("*.py"), *MODULES.values()]
    )
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"-m benchmarks ([a-z-]+)", text)
    assert set(named) == set(BENCHMARKS)
    assert set(re.findall(r"(?:^make(?=.*\s# )|`make) ([a-z-]+)", text, re.MULTILINE)) <= set(targets)


def test_starting_one_imports_nothing_that_a_bare_machine_with_torch_lacks():
    """`make gpu` begins before what is missing there was put in."""
    ours = "diagnose", "msgspec", "libcst", "numpy", "psutil"
    code = (
        "import sys; from benchmarks.__main__ import main\n"
        f"try: main(['gpu', '--help'])\nexcept SystemExit: sys.exit(bool(set({ours}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert done.returncode == 0
