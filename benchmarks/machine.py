"""What machine this is, and whether samples can be recorded on a GPU here.

Standard library only: torch may be what is missing.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.brought import BROUGHT

# pyproject.toml's, as they are imported; a test holds the two together. The second ones
# are for what the samples do not touch.
NEEDED = (
    "torch",
    "pandas",
    "numpy",
    "tensorboard",
    "tabulate",
    "msgspec",
    "rich",
    "jinja2",
    "psutil",
    "libcst",
)
NOT_NEEDED_HERE = ("zstandard", "fsspec")
OLDEST_PYTHON, OLDEST_TORCH = (3, 10), (2, 4)


def obstacles(*, without_gpu: bool = False) -> list[str]:
    """What stands in the way, a sentence each: all at once, so that one visit is enough to mend it.

    Empty if nothing does.
    """
    missing = [name for name in NEEDED if not _imports(name)]
    found = []
    if sys.version_info < OLDEST_PYTHON:
        found.append(
            f"Python {platform.python_version()} is too old: {'.'.join(map(str, OLDEST_PYTHON))} is the "
            "oldest that will do"
        )
    if others := [name.replace("_", "-") for name in missing if name != "torch"]:
        found.append(
            f"missing packages: python -m pip install {' '.join(others)} (without a network: `make "
            "gpu-wheels` where there is one leaves "
            f"{' and '.join(BROUGHT)} in wheels/, which --wheels FOLDER takes; others need --no-index "
            "--find-links FOLDER)"
        )
    if "torch" in missing:
        found.append(
            "torch cannot be imported: python -m pip install torch, in a build for this machine's CUDA "
            "driver (https://pytorch.org)"
        )
    elif not without_gpu:
        found += _obstacles_of_torch()
    return found


def _obstacles_of_torch() -> list[str]:
    import torch

    if tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) < OLDEST_TORCH:
        return [
            f"torch {torch.__version__} is too old: {'.'.join(map(str, OLDEST_TORCH))} is the oldest that "
            "will do"
        ]
    if torch.version.cuda is None:
        return [f"torch {torch.__version__} is a build without CUDA"]
    if not torch.cuda.is_available():
        return [
            f"torch {torch.__version__} for CUDA {torch.version.cuda} sees no GPU (driver: "
            f"{driver() or 'nvidia-smi does not answer'})"
        ]
    return []


def shortcomings() -> list[str]:
    """What does not stop the rest, and what will be missing for it."""
    found = []
    if driver() is None:
        found.append(
            "nvidia-smi does not answer: reports will not say how warm, how fast and how busy the GPU was"
        )
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        found.append(
            "no C compiler: torch.compile cannot make kernels, so pointwise-chain and the fix `compile` "
            "will fail"
        )
    if not _imports("triton") and driver() is not None:
        found.append(
            "no triton: torch.compile cannot make kernels, so pointwise-chain and the fix `compile` will fail"
        )
    return found


def machine() -> dict[str, Any]:
    """What results are named after. ``gpu`` and ``driver`` are None without one. Needs torch."""
    import torch

    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "driver": driver(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": cpu_name(),
    }


def in_words(known: dict[str, Any]) -> str:
    gpu = (
        f"{known['gpu']} (driver {known['driver'] or 'not known'}, CUDA {known['cuda']})"
        if known["gpu"]
        else "no GPU"
    )
    others = "".join(f"; and on {in_words(one)}" for one in known.get("also", ()))
    return (
        f"torch {known['torch']}, Python {known['python']}, {gpu}, {known['cores']} cores of "
        f"{known['cpu']}{others}"
    )


def driver() -> str | None:
    """The NVIDIA driver's version, as nvidia-smi tells it."""
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    return said[0] if said else None


def cpu_name() -> str:
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def _imports(name: str) -> bool:
    """A package that is there but broken is missing as well."""
    try:
        importlib.import_module(name)
    except Exception:
        return False
    return True
