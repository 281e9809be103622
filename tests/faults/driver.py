"""Runs small scripts while one function of ours after the other raises: ``python -m
tests.faults.driver FOLDER FIRST EVERY [SCRIPT …]``.

A process for each fault, forked where torch is imported already. Prints a JSON line for each:
what was planted, whether it was reached, whether the script printed, returned and ended as
without us, and what was told of it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import mmap
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

os.environ["KINETO_LOG_LEVEL"] = "99"  # as `launch` sets it

import torch

import diagnose.run.child as package

from .scripts import SCRIPTS

# Only `verify` and `diagnose.record` use these, or they are what stops the script.
ELSEWHERE = (
    "interventions",
    "trial",
    "identical",
    "outputs",
    "inner_session",
    "import_hook",
    "exit_hooks",
    "guard",
    "stop",
    "site",
)
# as the inner functions of our wrappers, which make the script's own call
THE_CALL_ITSELF = ("dataflow.Dataflow.__torch_function__", "memory_look.MemoryLook.__torch_dispatch__")
EXCEPTIONS: tuple[type[Exception], ...] = (RuntimeError, SystemError, MemoryError, AttributeError, OSError)


def modules() -> list[ModuleType]:
    prefix = f"{package.__name__}."
    found = (module.name.removeprefix(prefix) for module in pkgutil.walk_packages(package.__path__, prefix))
    names = sorted(name for name in found if name.partition(".")[0] not in ELSEWHERE)
    return [importlib.import_module(prefix + name) for name in names]


def functions(of: list[ModuleType]) -> Iterator[tuple[str, Any, str]]:
    """Name, owner and attribute of every function and method that the modules define."""
    for module in of:
        short = module.__name__.rpartition(".")[2]
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, FunctionType):
                yield f"{short}.{name}", module, name
            elif inspect.isclass(value) and not issubclass(value, (tuple, BaseException)):
                for method, inner in list(vars(value).items()):
                    what = f"{short}.{name}.{method}"
                    if isinstance(inner, (FunctionType, property)) and what not in THE_CALL_ITSELF:
                        yield what, value, method


def plant(owner: Any, name: str, fail: Callable[..., Any], everywhere: list[ModuleType]) -> None:
    """Let it raise, in all modules that have it; inside its guard, if it has one."""
    known = vars(owner)[name]
    fail = getattr(known, "guard", lambda failing: failing)(fail)
    if not isinstance(owner, ModuleType):
        setattr(owner, name, property(fail) if isinstance(known, property) else fail)
        return
    for module in everywhere:
        for alias, value in list(vars(module).items()):
            if value is known:
                setattr(module, alias, fail)


def run(
    script: str, folder: Path, fault: tuple[Any, str, type[Exception]] | None, *, watched: bool
) -> dict[str, Any]:
    """One script in a process of its own: its result, what it printed, how it
    ended, whether the fault was reached.
    """
    folder.mkdir(parents=True)
    reached = mmap.mmap(-1, 1)
    pid = os.fork()
    if pid == 0:
        _in_child(script, folder, fault, reached, watched=watched)
    _, status = os.waitpid(pid, 0)
    printed = {name: (folder / name).read_text() for name in ("stdout", "stderr")}
    steps = folder / "rank0" / "steps.json"
    notes = json.loads(steps.read_text())["notes"] if steps.exists() else None
    return {"status": status, "reached": reached[0] == 1, "notes": notes, **printed}


def _in_child(
    script: str,
    folder: Path,
    fault: tuple[Any, str, type[Exception]] | None,
    reached: mmap.mmap,
    *,
    watched: bool,
) -> None:
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    everywhere = modules()
    if fault is not None:
        owner, name, kind = fault

        def fail(*args: Any, **kwargs: Any) -> Any:
            reached[0] = 1
            raise kind("planted")

        plant(owner, name, fail, everywhere)
    if watched:
        plan = {
            "folder": str(folder),
            "steps": 3,
            "plain_steps": 5,
            "stacks": True,
            "keep_going": True,
            "device": "cpu",
            "wait_s": 1,
            "watch": True,
        }
        _record_again_at_once()
        try:
            importlib.import_module(f"{package.__name__}.session").begin(
                {**plan, "script_folder": str(Path(__file__).parent), "cwd": os.getcwd()}
            )
        except Exception as error:  # as `arming` does
            sys.stderr.write(f"diagnose: nothing will be recorded: {error!r}\n")
    status = 1
    try:
        print(SCRIPTS[script]())
        status = 0
    except BaseException as error:
        print(f"raised {error!r}")
    sys.stdout.flush()
    os._exit(status)  # ours, which writes what was recorded first


def _record_again_at_once() -> None:
    """The first thing that a watched run does is to be recorded again, and windows are short."""
    watched_run = importlib.import_module(f"{package.__name__}.watching.watched_run").WatchedRun
    windows = importlib.import_module(f"{package.__name__}.watching.windows")
    windows.FIRST_LENGTH_S = 0.02
    begin = watched_run.begin

    def begins(run: Any) -> None:
        begin(run)
        run._due = "asked for"

    watched_run.begin = begins


def main(folder: Path, first: int, every: int, scripts: list[str]) -> None:
    torch.set_num_threads(1)
    expected = {script: run(script, folder / script / "plain", None, watched=False) for script in scripts}
    assert all(plain["status"] == 0 for plain in expected.values()), expected
    for script in scripts:
        planted = list(functions(modules()))
        for number in range(first, len(planted), every):
            what, owner, name = planted[number]
            kind = EXCEPTIONS[number % len(EXCEPTIONS)]
            seen = run(script, folder / script / str(number), (owner, name, kind), watched=True)
            plain = expected[script]
            same = (seen["status"], seen["stdout"]) == (plain["status"], plain["stdout"])
            told = [line for line in seen["stderr"].splitlines() if not line.startswith("diagnose: ")]
            row = {
                "script": script,
                "fault": what,
                "kind": kind.__name__,
                "reached": seen["reached"],
                "unharmed": same and not told,
            }
            print(
                json.dumps(
                    {
                        **row,
                        "printed": seen["stdout"][-300:] if not same else "",
                        "stderr": seen["stderr"][-600:],
                        "notes": seen["notes"],
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] or list(SCRIPTS))
