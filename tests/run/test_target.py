"""What is run is what Python would run, and it is looked up without running any of it."""

from __future__ import annotations

import compileall
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.errors import ScriptFailed, UsageError
from diagnose.run.settings import Target
from diagnose.run.target import check

BOMB = "raise RuntimeError('code of the package was run')\n"
FILES = {
    "space/inner/train.py": "print('it is', __name__)",
    "space/runs/__main__.py": "print('it is', __name__)",
    "space/silent/helper.py": "",
    "package/__init__.py": BOMB,
    "package/train.py": BOMB,
    "package/bare/__init__.py": BOMB,
    "package/bare/helper.py": BOMB,
    "package/parts/deep/train.py": BOMB,
    "runs/__init__.py": BOMB,
    "runs/__main__.py": BOMB,
    "plain.py": BOMB,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def module(name: str) -> Target:
    return Target(name, True, ())


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("plain", "."),
        ("package.train", "package"),
        ("package.parts.deep.train", "package/parts/deep"),
        ("runs", "runs"),
        ("space.inner.train", "space/inner"),
        ("space.runs", "space/runs"),
    ],
)
def test_a_module_is_found_without_running_any_code(name: str, folder: str, tree: Path) -> None:
    assert check(module(name), tree) == (tree / folder).resolve()


@pytest.mark.live
@pytest.mark.parametrize("name", ["space.inner.train", "space.runs"])
def test_python_runs_what_was_found(name: str, tree: Path) -> None:
    done = subprocess.run([sys.executable, "-m", name], cwd=tree, capture_output=True, text=True, check=True)
    assert done.stdout == "it is __main__\n"


def test_a_namespace_package_may_lie_in_several_folders(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "space" / "inner").mkdir(parents=True)
    (elsewhere / "space" / "inner" / "other.py").write_text(BOMB)
    monkeypatch.syspath_prepend(elsewhere)
    assert check(module("space.inner.other"), tree) == (elsewhere / "space" / "inner").resolve()
    assert check(module("space.inner.train"), tree) == (tree / "space" / "inner").resolve()


def test_a_module_may_lie_in_an_archive(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = shutil.make_archive(str(tmp_path_factory.mktemp("library") / "library"), "zip", tree)
    monkeypatch.syspath_prepend(archive)
    empty = tmp_path_factory.mktemp("empty")
    assert check(module("space.inner.train"), empty) == Path(archive).resolve() / "space" / "inner"
    assert check(module("runs"), empty) == Path(archive).resolve() / "runs"


def test_a_module_of_an_editable_install_is_found_by_its_own_finder(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip install -e puts a finder for the package's name into sys.meta_path."""
    from importlib.util import spec_from_file_location

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> object:
            place = tree / "package"
            return spec_from_file_location(name, place / "__init__.py") if name == "package" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    elsewhere = tree / "space"
    assert check(module("package.train"), elsewhere) == (tree / "package").resolve()


@pytest.mark.parametrize(
    "name",
    [
        "nowhere",
        "space.nowhere",
        "space.inner.nowhere",
        "package.train.nowhere",
        "space..inner",
        ".plain",
        "plain.",
    ],
)
def test_a_module_that_does_not_exist_is_said_in_one_message(name: str, tree: Path) -> None:
    with pytest.raises(UsageError, match=rf"There is no module {name}\.") as error:
        check(module(name), tree)
    assert str(tree) in error.value.saw


@pytest.mark.parametrize("name", ["space", "space.silent", "package", "package.bare"])
def test_a_package_that_cannot_be_run_is_said(name: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tree)  # as where we are started from that folder
    with pytest.raises(UsageError, match=rf"{name} is a package without __main__\.py") as error:
        check(module(name), tree)
    assert error.value.saw == str(tree / name.replace(".", "/"))


def compiled(folder: Path) -> Path:
    (folder / "train.py").write_text("print('ran')")
    compileall.compile_file(str(folder / "train.py"), legacy=True, quiet=1)
    return folder / "train.pyc"


def archived(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "train.pyz", "w") as file:
        file.writestr("__main__.py", "print('ran')")
    return folder / "train.pyz"


@pytest.mark.live
@pytest.mark.parametrize("make", [compiled, archived])
def test_what_python_runs_without_compiling_it_is_no_syntax_error(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    script = make(tmp_path)
    assert (
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout == "ran\n"
    )
    assert check(Target(str(script), False, ()), tmp_path) == tmp_path.resolve()


def test_bytes_that_no_python_reads_are_the_scripts_failure(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"\x00\x01")
    with pytest.raises(ScriptFailed, match="not valid Python"):
        check(Target("train.py", False, ()), tmp_path)


def test_what_python_warns_of_when_it_runs_the_script_is_not_said_twice(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\nprint(x is 1)\n")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check(Target("train.py", False, ()), tmp_path)
    assert not said
