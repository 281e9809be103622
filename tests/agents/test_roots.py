"""What an agent may name, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.agents.roots import Outside, Roots


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "project/train.py",
        "project/pkg/train.py",
        "project/compare",
        "project/-x/a.py",
        "other.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "project" / "link.py").symlink_to(tmp_path / "other.py")
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("train.py", "train.py"),
        ("./pkg/../train.py", "train.py"),
        ("pkg/train.py", "pkg/train.py"),
        ("compare", "./compare"),
        ("-x/a.py", "./-x/a.py"),
    ],
)
def test_files_in_the_folder_as_a_command_line_takes_them(project: Path, name: str, typed: str) -> None:
    assert Roots([project]).typed(name) == typed
    assert Roots([project]).typed(str(project / name)) == typed


@pytest.mark.parametrize(
    "name", ["../other.py", "link.py", "/etc/passwd", "gone.py", "http://host/t.json", "file:///etc/passwd"]
)
def test_nothing_else(project: Path, name: str) -> None:
    with pytest.raises(Outside):
        Roots([project]).typed(name)


def test_modules_are_files_in_the_folder_too(project: Path) -> None:
    Roots([project]).module("pkg.train")
    for name in ("os", "torch.distributed.run", "pkg", "..other", "-c", "link"):
        with pytest.raises(Outside):
            Roots([project]).module(name)


def test_a_clients_roots_narrow_the_folders_and_never_widen_them(project: Path) -> None:
    assert Roots([project], [f"file://{project}/pkg"]).home == project / "pkg"
    assert Roots([project], [f"file://{project}/pkg"]).typed("train.py") == "train.py"
    with pytest.raises(Outside):
        Roots([project], [f"file://{project}/pkg"]).typed(str(project / "train.py"))
    assert Roots([project], [f"file://{project.parent}"]).home == project
    for uris in (["file:///etc"], ["https://host/project"]):
        with pytest.raises(Outside):
            _ = Roots([project], uris).home
