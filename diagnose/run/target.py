"""What Python itself would say before it runs the target."""

from __future__ import annotations

import importlib.util
import traceback
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diagnose.errors import ScriptFailed, UsageError
from diagnose.run.modules import folder_of_module
from diagnose.run.settings import Target


def check(target: Target, cwd: Path | None = None) -> Path:
    """The folder that holds the target's code, as it is found from `cwd` (the working directory).

    Raises UsageError if there is no such target, ScriptFailed if it cannot be compiled.
    """
    cwd = cwd or Path.cwd()
    return folder_of_module(target.script, str(cwd)) if target.module else _check_script(cwd, target.script)


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
    if source.startswith(importlib.util.MAGIC_NUMBER) or zipfile.is_zipfile(script):
        return script.resolve().parent  # compiled before, or an archive (.pyz)
    try:
        with warnings_left_to_python():
            compile(source, given, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        python_says = "".join(traceback.format_exception_only(type(error), error)).rstrip()
        line = getattr(error, "lineno", None)
        place = f"{given}:{line}" if line else given
        raise ScriptFailed(
            f"{place} is not valid Python.", saw=python_says, do="Fix the script and run again."
        ) from error
    return script.resolve().parent


@contextmanager
def warnings_left_to_python() -> Iterator[None]:
    """What a script is warned of meanwhile: Python says it when the script runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
