"""The wheel carries the rules and works where the source tree is not."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command, **options):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Runs Python in an empty folder with the installed wheel before everything else on the path."""
    site, elsewhere = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("elsewhere")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel)
    return lambda *command: run(*command, cwd=elsewhere, env=os.environ | {"PYTHONPATH": str(site)})


def test_every_rule_is_in_the_wheel_and_no_case(wheel):
    names = {
        Path(name).name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("diagnose/_rules/")
    }
    assert names == {
        path.name for path in (ROOT / "rules").iterdir() if not path.name.endswith(".cases.toml")
    }


def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel):
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"diagnose", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}


def test_templates_scripts_and_tables_are_in_the_wheel(wheel):
    there = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "diagnose").rglob("*.*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {
        "diagnose/report/tab/index.js",
        "diagnose/report/page/css/page.css",
        "diagnose/predict/peaks.toml",
    } < there
    assert there <= set(zipfile.ZipFile(wheel).namelist())


def test_tensorboard_finds_the_tab_in_the_installed_package(installed):
    find = (
        "import importlib.metadata as m; print(*(e.load().plugin_name for e in "
        "m.entry_points(group='tensorboard_plugins')))"
    )
    assert "diagnose" in installed("-c", find).split()


def test_the_hooks_of_the_child_process_are_in_the_wheel(wheel):
    assert "diagnose/run/child/site/sitecustomize.py" in zipfile.ZipFile(wheel).namelist()


def test_the_installed_package_lists_its_rules_from_another_folder(installed):
    assert not Path(installed("-c", "import diagnose; print(diagnose.__file__)")).is_relative_to(ROOT)
    listed = installed("-m", "diagnose", "rules")
    assert all(
        path.stem in listed
        for path in (ROOT / "rules").glob("*.toml")
        if not path.name.endswith(".cases.toml")
    )


def test_the_installed_package_knows_its_version(installed):
    printed = installed(
        "-c",
        "import importlib.metadata as m, diagnose; print(m.version('torch-diagnose'), diagnose.__version__)",
    )
    assert len(set(printed.split())) == 1


def test_benchmarks_samples_and_tests_are_not_in_the_wheel(wheel):
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"diagnose"}
