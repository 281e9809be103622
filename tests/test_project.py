"""What the project says of itself in several places is the same in all of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob(".github/workflows/*.yml")}


def oldest_torch() -> str:
    said = subprocess.run(
        [sys.executable, ROOT / ".ci" / "oldest.py", "torch"], capture_output=True, text=True, check=True
    )
    return said.stdout.strip()


def test_ci_runs_every_python_that_is_claimed() -> None:
    matrix = re.search(r"python: \[(.*)\]", WORKFLOWS["ci"])
    assert matrix and re.findall(r'"([\d.]+)"', matrix[1]) == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_pages_name_the_pythons_that_are_claimed(page: str) -> None:
    assert f"{PYTHONS[0]}–{PYTHONS[-1]}" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.live
def test_the_readme_names_the_oldest_torch() -> None:
    assert f"torch {oldest_torch()} or newer" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_linters_take_the_oldest_python() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["ruff"]["target-version"] == "py" + PYTHONS[0].replace(".", "")


def test_only_a_tag_publishes_and_no_token_is_kept() -> None:
    assert [name for name, text in WORKFLOWS.items() if "pypi-publish" in text] == ["release"]
    release = WORKFLOWS["release"]
    assert re.search(r"^on:\n  push:\n    tags: \[\"v\*\"\]\n\npermissions:", release, re.MULTILINE)
    assert "id-token: write" in release and "needs: [test, build]" in release
    assert not any("secrets." in text or "password" in text for text in WORKFLOWS.values())


@pytest.mark.parametrize("name", ["run", "package"])
def test_scripts_that_workflows_run_are_there(name: str) -> None:
    assert f".ci/{name}" in "".join(WORKFLOWS.values())
    subprocess.run(["bash", "-n", ROOT / ".ci" / name], check=True)
