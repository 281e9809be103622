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


def check(target: Target, cwd: Path | None = None) -> Path:
    """The folder that holds the target's code, as it is found from `cwd` (the working directory).

    Raises UsageError if there is no such target, ScriptFailed if it cannot be compiled.
    """
    cwd = cwd or Path.cwd()
    return _check_module(target.script, str(cwd)) if target.module else _check_script(cwd, target.script)


def _check_script(cwd: Path, given: str) -> Path:
    script = cwd / given
    if script.is_dir():
        if not (script / "__main__.py").is_file():
            raise UsageError(f"{given} is a folder without __main__.py.", do="Name the script to run.")
        return script.resolve()
    if not script.is_file():
        raise UsageError(f"There is no script {given}.", saw=f"working directory {cwd}", do="Check the path.")
    try:
        source = script.read_bytes()
    except OSError as error:
        raise UsageError(f"{given} cannot be read.", saw=str(error), do="Check its permissions.") from error
    try:
        compile(source, given, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        python_says = "".join(traceback.format_exception_only(type(error), error)).rstrip()
        line = getattr(error, "lineno", None)
        place = f"{given}:{line}" if line else given
        raise ScriptFailed(f"{place} is not valid Python.", saw=python_says, do="Fix the script and run again.") from error
    return script.resolve().parent


def _check_module(name: str, cwd: str) -> Path:
    """Looked up as `python -m` would, with the working directory first, but without running any of it."""
    path: Sequence[str] | None = [cwd, *sys.path]
    spec = None
    for depth, part in enumerate(name.split(".")):
        qualified = ".".join(name.split(".")[: depth + 1])
        spec = PathFinder.find_spec(qualified, path) if path is not None and part else None
        if spec is None:
            saw = f"{qualified!r} not found from {cwd}"
            raise UsageError(f"There is no module {name}.", saw=saw, do="Check the name and the working directory.")
        path = spec.submodule_search_locations
    if spec is not None and spec.origin and os.path.isfile(spec.origin):
        return Path(spec.origin).resolve().parent
    return Path(next(iter(path), cwd)) if path else Path(cwd)
