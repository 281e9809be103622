"""Start the user's script as plain Python would, with our hooks in its environment, and see it to its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diagnose.errors import UsageError
from diagnose.run.child.launcher import identity
from diagnose.run.child.shared_state import RECORDING, SharedState
from diagnose.run.child.signals import is_caught
from diagnose.run.gpu_state import GpuState
from diagnose.run.job.folder import JobFolder
from diagnose.run.job.heartbeat import begin, show_sign, write_end
from diagnose.run.job.torchrun import signals_the_script
from diagnose.run.record import new_record, write_record
from diagnose.run.settings import RunOutcome, Settings, Target
from diagnose.run.signals import ENDING, FOR_THE_SCRIPT, Handler, heard_by, signal_name
from diagnose.run.stage import Stage, Stages
from diagnose.run.target import check
from diagnose.run.tree import MARKER, end_all, processes_of

Progress = Callable[[Stage], None]

_SITE = Path(__file__).resolve().parent / "child" / "site"
_POLL_S = 0.1
# for the script's own `finally`, atexit and checkpoints once everything is recorded
_GRACE_AFTER_DONE_S = 15.0
_GRACE_AFTER_ASKING_S = 5.0  # for a stop at the next tick
_GRACE_AFTER_SIGNAL_S = 3.0
_GRACE_AFTER_SIGTERM_S = 20.0  # for a trial's own way to end
_GRACE_WHILE_WRITING_S = 20.0  # for a recording that the signal interrupts
_GRACE_LEFTOVERS_S = 2.0  # for loader workers to notice that their parent has gone


def launch(
    target: Target,
    settings: Settings,
    out: Path,
    progress: Progress | None = None,
    job: JobFolder | None = None,
) -> RunOutcome:
    """Run `target` and leave what was recorded in the run folder `out`, which is created.

    `job`: with the other launchers of the job, if there are any; the caller has to see to its end
    (`heartbeat`) and then to `tidy` the folder. `progress` is told several times a second what the recording
    is at. Raises UsageError if there is no such target and ScriptFailed if it is not valid Python, and
    UsageError if a GPU is asked for and torch sees none. Every other end of the script is an outcome.
    """
    folder = check(target)
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    record = new_record(
        target.script, [target.script, *target.args], settings, module=target.module
    ) | _about_job(job)
    keeps_record = job is None or job.keeps_record
    if keeps_record:
        write_record(out, record)
    if job is not None:
        begin(job)
    plan = {
        "folder": str(out),
        "steps": settings.steps,
        "plain_steps": settings.plain_steps,
        "wait_s": settings.wait_s,
        "stacks": settings.stacks,
        "keep_going": settings.keep_going or settings.watch,
        "watch": settings.watch,
        "device": settings.device,
        "script_folder": str(folder),
        "cwd": os.getcwd(),
        "node": job.peers.node if job is not None else 0,
        "machines": job.peers.machines if job is not None else 1,
    }
    watches_gpu = keeps_record and settings.device != "cpu"
    run = Run(
        command(target),
        plan,
        environment_for(settings),
        timeout_s=settings.timeout_s,
        watches_gpu=watches_gpu,
        progress=_with_signs(progress, job),
        passes_signals_on=not signals_the_script(os.environ),
    )
    outcome = run.to_its_end()
    if keeps_record:
        end = asdict(outcome) | {"gpu_state": run.gpu_state, "torch_imported": run.torch_imported}
        with contextlib.suppress(OSError):  # the disk is full: what was recorded is there, and is analysed
            write_record(out, record | end)
    if job is None:
        tidy(out)
    if run.found_no_gpu:
        raise UsageError(
            "There is no GPU to record on.", saw="torch sees no GPU", do="Leave out --device cuda."
        )
    return outcome


def _about_job(job: JobFolder | None) -> dict[str, Any]:
    if job is None:
        return {"launchers": 1}
    peers = job.peers
    return {
        "launchers": peers.world_size,
        "launchers_here": peers.local_count,
        "job": peers.job,
        "before": list(job.before),
    }


def _with_signs(progress: Progress | None, job: JobFolder | None) -> Progress | None:
    """Whenever progress is told, other machines are shown that this one is at work."""
    if job is None:
        return progress

    def told(stage: Stage) -> None:
        show_sign(job)
        if progress is not None:
            progress(stage)

    return told


def environment_for(settings: Settings) -> dict[str, str]:
    """Ours, for the script."""
    return dict(os.environ) | ({"CUDA_VISIBLE_DEVICES": ""} if settings.device == "cpu" else {})


def tidy(out: Path, node: int = 0) -> None:
    """When all processes of the run have ended: say which ranks were
    killed, and take away what they shared.
    """
    with contextlib.suppress(OSError):
        for slot in SharedState(str(out), node).slots():
            if slot.state == RECORDING and not (out / f"rank{slot.rank}" / "ended.json").exists():
                write_end(out, slot.rank, RunOutcome("killed", None, None, None))
    with contextlib.suppress(OSError):
        (out / SharedState.file(node)).unlink(missing_ok=True)
        for elected in [*out.glob("rank*/elected"), out / "elected"]:
            elected.unlink(missing_ok=True)


def command(target: Target, python: str = sys.executable) -> list[str]:
    """What starts the target with the flags of the Python we run in."""
    return [python, *_interpreter_flags(), *(["-m"] if target.module else []), target.script, *target.args]


class Run:
    """One child process, from start to end.

    `plan` is for our hooks in it and names the folder they write into; `environment` is the script's own. The
    child's standard streams are ours, unless everything it prints is to go to the file `prints_to`.
    `keeps_parts`: whether what it recorded until its time limit is of use; if not, it is ended at once.
    `passes_signals_on`: those that come to us; if not, they come to the child as well.
    """

    def __init__(
        self,
        command: list[str],
        plan: dict[str, Any],
        environment: dict[str, str],
        *,
        timeout_s: float | None = None,
        watches_gpu: bool = True,
        progress: Progress | None = None,
        prints_to: Path | None = None,
        keeps_parts: bool = True,
        passes_signals_on: bool = True,
    ) -> None:
        self._command, self._cwd = command, plan["cwd"]
        self._timeout_s, self._watches_gpu, self._prints_to = timeout_s, watches_gpu, prints_to
        self._keeps_parts, self._passes_signals_on = keeps_parts, passes_signals_on
        self._watches = bool(plan.get("watch"))
        self._keeps_clocks_in = Path(plan["folder"]) if self._watches else None
        self._progress = progress or (lambda stage: None)
        self._id = uuid.uuid4().hex
        self._shared = SharedState(plan["folder"], plan.get("node", 0))
        self._environment = _with_hooks(environment, self._id, plan)
        self._interrupts = 0
        self._came: list[signal.Signals] = []
        self._passed_on = 0  # of those
        self.gpu_state: dict[str, Any] | None = None

    @property
    def found_no_gpu(self) -> bool:
        return self._shared.no_gpu

    @property
    def torch_imported(self) -> bool:
        return self._shared.torch_imported

    def to_its_end(self) -> RunOutcome:
        began = time.monotonic()
        handlers: dict[signal.Signals, Handler] = {
            **dict.fromkeys(FOR_THE_SCRIPT, self._on_signal),
            signal.SIGINT: self._on_interrupt,
        }
        with heard_by(handlers):
            child = self._started()
            try:
                reason = self._watch_with_gpu(child, began)
                if reason is not None:
                    self._end(child, reason)
            finally:
                while not self._ended(child, _POLL_S):
                    pass  # somebody else ends it, or watching it failed: then it runs on as without us
            if reason is None and child.returncode < 0:
                reason = "killed"
            if reason is not None or not self._keeps_parts:
                self._sweep()
        code = child.returncode
        return RunOutcome(
            reason or ("crashed" if code else "finished"),
            code if code >= 0 else None,
            signal_name(-code) if code < 0 else None,
            time.monotonic() - began,
        )

    def _started(self) -> subprocess.Popen[bytes]:
        """With the files that whoever started us left open for it; ours are not inherited."""
        if self._prints_to is None:
            return subprocess.Popen(self._command, env=self._environment, cwd=self._cwd, close_fds=False)
        with self._prints_to.open("wb") as printed:
            return subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self._cwd,
                close_fds=False,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
            )

    def _watch_with_gpu(self, child: subprocess.Popen[bytes], began: float) -> str | None:
        gpu = GpuState(
            lambda: {process.pid for process in processes_of(self._id, child.pid)}, self._keeps_clocks_in
        )
        try:
            if self._watches_gpu:
                gpu.start()
            return self._watch(child, began)
        finally:
            self.gpu_state = gpu.stop()

    def _watch(self, child: subprocess.Popen[bytes], began: float) -> str | None:
        """Wait for the child. The reason why it ends or is to be ended; None if the script came to its
        own end.
        """
        stages = Stages(self._shared)
        done_at = None
        while not self._ended(child, _POLL_S):
            now = time.monotonic()
            with contextlib.suppress(Exception):  # a terminal that is gone, a full disk: the script goes on
                self._progress(stages.now())
            if self._interrupts > 1 or (self._is_told_to_end and not self._keeps_parts):
                return "interrupted"
            if self._is_told_to_end:
                continue  # whoever told it knows how long it may take to save, and ends it after that
            if self._timeout_s is not None and now - began >= self._timeout_s:
                return "timeout"
            if self._shared.done:
                done_at = done_at or now
                if now - done_at >= _GRACE_AFTER_DONE_S:
                    return "stopped"
            elif self._interrupts:
                # in case the signal did not reach the child, or it goes on regardless
                self._shared.request_stop(by_ctrl_c=True)
        if self._interrupts or signal.SIGTERM in self._came:
            return "interrupted"
        if self._is_told_to_end and not self._keeps_parts:
            return "interrupted"
        return "stopped" if self._shared.done else None

    def _end(self, child: subprocess.Popen[bytes], reason: str) -> None:
        """Ask for a stop at the next tick; then a signal, and SIGKILL for a process that goes on.
        The others are swept away afterwards.

        A second Ctrl-C, or one that only reached us, is passed on as what it is. All other ends are by
        SIGTERM: a process dies of it without a word, once what it recorded is written, while SIGINT would be
        an exception in whatever code of the script runs just then.
        """
        asks = reason == "interrupted" or (reason == "timeout" and self._keeps_parts)
        if asks and self._interrupts < 2 and not self._is_told_to_end:
            self._shared.request_stop()
            if self._ended(child, _GRACE_AFTER_ASKING_S):
                return
        if reason == "interrupted" and not self._is_told_to_end:
            _signal(child, signal.SIGINT)
            if self._ended(child, _GRACE_AFTER_SIGNAL_S):
                return
        if not self._is_told_to_end:
            _signal(child, signal.SIGTERM)
        grace_s = _GRACE_AFTER_SIGTERM_S if self._is_told_to_end else self._grace_s()
        if not self._ended(child, grace_s) and (reason == "interrupted" or not self._is_told_to_end):
            child.kill()

    def _grace_s(self) -> float:
        """From SIGTERM to SIGKILL: what is recorded is to be written."""
        recording = self._keeps_parts and any(slot.state == RECORDING for slot in self._shared.slots())
        return _GRACE_WHILE_WRITING_S if recording else _GRACE_AFTER_SIGNAL_S

    def _sweep(self) -> None:
        """No process is left behind by a run that did not end by itself, nor by a trial: it would disturb the
        next one.
        """
        deadline = time.monotonic() + _GRACE_LEFTOVERS_S
        while leftovers := processes_of(self._id):
            if time.monotonic() >= deadline:
                end_all(leftovers, self._grace_s())
                return
            time.sleep(_POLL_S)

    def _on_interrupt(self, number: int, frame: object) -> None:
        self._interrupts += 1

    def _on_signal(self, number: int, frame: object) -> None:
        self._came.append(signal.Signals(number))

    @property
    def _is_told_to_end(self) -> bool:
        """By somebody else."""
        return any(number in ENDING for number in self._came)

    def _ended(self, child: subprocess.Popen[bytes], within_s: float) -> bool:
        """Whether it ends within that time. Until then it is passed what signals come."""
        deadline = time.monotonic() + within_s
        while True:
            self._pass_on(child)
            left_s = max(0.0, deadline - time.monotonic())
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(min(_POLL_S, left_s))
                return True
            if not left_s:
                return False

    def _pass_on(self, child: subprocess.Popen[bytes]) -> None:
        """The script handles them or dies of them, as without us. SIGUSR1 also asks a run that is watched for
        a recording, which its process does by itself if it can.
        """
        for number in self._came[self._passed_on :]:
            self._passed_on += 1
            if number == signal.SIGUSR1 and self._watches and not is_caught(child.pid, number):
                self._shared.ask_for_snap()
            elif self._passes_signals_on:
                _signal(child, number)


def _with_hooks(environment: dict[str, str], run_id: str, plan: dict[str, Any]) -> dict[str, str]:
    """The environment in which every Python process of the run is armed."""
    hooks = {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_SITE), environment.get("PYTHONPATH")])),
        MARKER: run_id,
        "DIAGNOSE_PLAN": json.dumps(plan | {"launcher": identity()}),
        # its exporter writes on the script's stderr
        "KINETO_LOG_LEVEL": environment.get("KINETO_LOG_LEVEL", "99"),
    }
    return environment | hooks


def _interpreter_flags() -> list[str]:
    """The flags we were started with, but for those that would shut out PYTHONPATH: of -I what else it
    stands for is left.
    """
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    if sys.flags.isolated:
        flags += ["-s", "-P"]
    if getattr(sys.__stdout__, "write_through", False):
        flags.append("-u")  # no flag of sys.flags
    return [flag for flag in flags if flag not in ("-I", "-E")]


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Unless it has ended."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(number)
