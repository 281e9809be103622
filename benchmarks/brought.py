"""Packages that an image with torch for CUDA lacks, from wheels that were brought along (`make gpu-wheels`).

They go into a folder of their own, on the path of this process and of those it starts. The
machine's environment stays as it is.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks.tasks import called

BROUGHT = ("msgspec", "libcst")
INSTALL_S = 120.0


def provide(wheels: Path, folder: Path) -> str:
    """See to it that they can be imported, if the wheels are there.

    Returns what went wrong; empty if nothing did.
    """
    if folder.is_dir():  # of an earlier call
        _add_to_path(folder)
    missing = [name for name in BROUGHT if find_spec(name) is None]
    if not missing or not list(wheels.glob("*.whl")):
        return ""
    where = ["--no-index", "--find-links", str(wheels), "--target", str(folder)]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        *where,
        *missing,
    ]
    try:
        done = called(command, Path.cwd(), os.environ, INSTALL_S)
    except (OSError, RuntimeError) as error:
        return f"{' and '.join(missing)} could not be installed from {wheels}: {error}"
    if done.returncode:
        return f"{' and '.join(missing)} could not be installed from {wheels}: {done.stderr.strip()[-600:]}"
    _add_to_path(folder)
    importlib.invalidate_caches()
    return ""


def _add_to_path(folder: Path) -> None:
    name = str(folder.resolve())
    if name not in sys.path:
        sys.path.insert(0, name)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [name, os.environ.get("PYTHONPATH")]))
