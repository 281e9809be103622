"""What torch's own pattern matcher says of a sample, for comparison
(docs/accuracy.md); our analysis does not use it.

Run with a script and a file to write: the script's first steps run once to warm up, and once under
torch.profiler from the loop's first batch on.
"""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS = 3
TIMEOUT_S = 300
REPORT = "torchtidy_report.json"  # the name torch gives it

Said = list[dict[str, Any]] | dict[str, str]


def said_by_torch(script: Path) -> Said:
    """A list of what was reported, each with pattern, file, line and text; or {"error": …}."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "said.json"
        command = [sys.executable, str(Path(__file__).resolve()), script.name, str(answer)]
        try:
            done = subprocess.run(
                command,
                cwd=script.parent,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"took longer than {TIMEOUT_S} s"}
        if not answer.exists():
            return {
                "error": f"ended with exit code {done.returncode}: "
                f"{(done.stderr.strip().splitlines() or [''])[-1]}"
            }
        said: Said = json.loads(answer.read_text())
        return said


def _said(script: str) -> list[dict[str, Any]]:
    from torch.profiler import profile
    from torch.profiler._pattern_matcher import report_all_anti_patterns

    trains = _run(script, "optimizer", lambda: None) > 0  # warms up as well
    profiler = profile(record_shapes=True, with_stack=True)
    _run(script, "optimizer" if trains else "forward", profiler.start)
    profiler.stop()
    with tempfile.TemporaryDirectory() as folder:
        report_all_anti_patterns(profiler, print_enable=False, json_report_dir=folder)
        reported = json.loads((Path(folder) / REPORT).read_text())
    return [
        {"pattern": one["name"], **_place(file, one["line_number"]), "text": one["message"]}
        for file, found in reported.items()
        for one in found
    ]


def _place(file: str, line: int) -> dict[str, Any]:
    """Empty for a loader's ``__iter__``, whose caller is our own hook."""
    return {} if Path(file).name == Path(__file__).name else {"file": file, "line": line}


class _EnoughSteps(BaseException):
    """Not an Exception: scripts catch those."""


def _run(script: str, clock: str, start: Any) -> int:
    """Run the script until STEPS ticks of the clock ("optimizer" or "forward"); `start` is called at
    its first batch. Returns the ticks.
    """
    ticks, started = 0, False

    def begin(*_: Any) -> None:
        nonlocal started
        if not started:
            started = True
            start()

    def tick(*_: Any) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == STEPS:
            raise _EnoughSteps

    with (
        _hooks(begin, tick, clock),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(_EnoughSteps, SystemExit),
    ):
        runpy.run_path(script, run_name="__main__")
    return ticks


@contextlib.contextmanager
def _hooks(begin: Any, tick: Any, clock: str) -> Iterator[None]:
    """`begin` is called before each loop over a loader and each module's forward,
    `tick` after each step of the clock.
    """
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.utils.data import DataLoader

    iterate = DataLoader.__iter__

    def iterate_after_begin(loader: Any) -> Any:
        begin()
        return iterate(loader)

    depth = 0

    def enter(*_: Any) -> None:
        nonlocal depth
        begin()
        depth += 1

    def leave(*_: Any) -> None:
        nonlocal depth
        depth -= 1
        if clock == "forward" and depth == 0:
            tick()

    handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave)]
    if clock == "optimizer":
        handles.append(register_optimizer_step_post_hook(tick))
    DataLoader.__iter__ = iterate_after_begin  # type: ignore[method-assign]
    try:
        yield
    finally:
        DataLoader.__iter__ = iterate  # type: ignore[method-assign]
        for handle in handles:
            handle.remove()


def main(script: str, answer: str) -> None:
    sys.path[0], sys.argv = os.getcwd(), [script]
    try:
        said: Said = _said(script)
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    Path(answer).write_text(json.dumps(said, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
