"""What Python itself would say before it runs the target."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from diagnose.errors import ScriptFailed, UsageError
from diagnose.run.settings import Target


def check(target: Target) -> Path:
    """The folder that holds the target's code. Raises UsageError if there is no such target, ScriptFailed if it cannot be compiled."""
    return _check_module(target.script) if target.module else _check_script(Path(target.script))


def _check_script(script: Path) -> Path:
    if script.is_dir():
        if not (script / "__main__.py").is_file():
            raise UsageError(f"{script} is a folder without __main__.py.", do="Name the script to run.")
        return script.resolve()
    if not script.is_file():
        raise UsageError(f"There is no script {script}.", saw=f"working directory {os.getcwd()}", do="Check the path.")
    try:
        source = script.read_bytes()
    except OSError as error:
        raise UsageError(f"{script} cannot be read.", saw=str(error), do="Check its permissions.") from error
    try:
        compile(source, str(script), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        python_says = "".join(traceback.format_exception_only(type(error), error)).rstrip()
        line = getattr(error, "lineno", None)
        place = f"{script}:{line}" if line else str(script)
        raise ScriptFailed(f"{place} is not valid Python.", saw=python_says, do="Fix the script and run again.") from error
    return script.resolve().parent


def _check_module(name: str) -> Path:
    """Looked up as `python -m` would, with the working directory first, but without running any of it."""
    path: Sequence[str] | None = [os.getcwd(), *sys.path]
    spec = None
    for depth, part in enumerate(name.split(".")):
        qualified = ".".join(name.split(".")[: depth + 1])
        spec = PathFinder.find_spec(qualified, path) if path is not None and part else None
        if spec is None:
            saw = f"{qualified!r} not found from {os.getcwd()}"
            raise UsageError(f"There is no module {name}.", saw=saw, do="Check the name and the working directory.")
        path = spec.submodule_search_locations
    if spec is not None and spec.origin and os.path.isfile(spec.origin):
        return Path(spec.origin).resolve().parent
    return Path(next(iter(path), os.getcwd())) if path else Path(os.getcwd())
