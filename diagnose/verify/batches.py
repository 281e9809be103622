"""The script run shortly with other batch sizes: how long its steps take, and what fills its memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.measure.memory_peak import MemoryLook, MemoryPeak
from diagnose.predict.batch_size import BatchModel, Sized
from diagnose.verify.timing import Trial, step_ms
from diagnose.verify.trial import Job, TrialSettings, run_trial

UNTIMED_STEPS, TIMED_STEPS, MOST_S = 4, 12, 20.0
_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Probe(Sized):
    """A run with that batch size. ``step_ms``: the median of its timed steps."""

    step_ms: float


class Probing:
    """Runs a job with other batch sizes: of its DataLoaders, or by an argument of the script's own."""

    def __init__(
        self,
        job: Job,
        folder: Path,
        *,
        now: int,
        ticks_per_step: int,
        argument: str,
        tell: Callable[[str], None],
        run: Callable[..., Trial] = run_trial,
    ) -> None:
        """``now``: the batch size as it is; ``argument``: as `--batch-size`; empty for DataLoaders."""
        self._now, self._run = now, run
        self._job, self._folder, self._argument, self._tell = job, folder, argument, tell
        self._settings = TrialSettings(
            steps=UNTIMED_STEPS + TIMED_STEPS,
            untimed_steps=UNTIMED_STEPS,
            ticks_per_step=ticks_per_step,
            timeout_s=_TIMEOUT_S,
            most_s=MOST_S,
            at_least=UNTIMED_STEPS + 1,
            looks_at_memory=True,
        )

    def probe(self, batch_size: int) -> Probe:
        """Raises DiagnoseError if the script fails with it, its batch size cannot be changed so, or its
        memory was not seen.
        """
        self._tell(f"running the script with a batch of {batch_size:,}")
        folder = self._folder / f"batch{batch_size}"
        job, fixes = self._with(batch_size)
        trial = self._run(job, fixes, self._settings, folder)
        if trial["ended"] not in ("stopped", "finished"):
            printed = (folder / "printed.txt").read_text(encoding="utf-8", errors="replace").strip()
            raise DiagnoseError(
                f"The script failed with a batch of {batch_size:,}.",
                saw=printed.splitlines()[-1][:300] if printed else str(trial["ended"]),
            )
        if fixes and not any(made["held"] for made in trial["interventions"]):
            raise DiagnoseError(
                "The script's batch size is not that of a DataLoader, or its batches are made by itself.",
                do="name the script's own argument for it: --argument=--batch-size",
            )
        return Probe(batch_size, _look(folder), _typical_ms(trial, self._settings))

    def _with(self, batch_size: int) -> tuple[Job, list[dict[str, Any]]]:
        if batch_size == self._now:
            return self._job, []
        if not self._argument:
            return self._job, [{"name": "dataloader", "arguments": {"batch_size": batch_size}, "sites": []}]
        words = with_argument(self._job.target.args, self._argument, batch_size)
        return replace(self._job, target=replace(self._job.target, args=words)), []


def with_argument(words: Sequence[str], argument: str, value: int) -> tuple[str, ...]:
    """The script's words with the value of one argument changed, or added where it is not there."""
    found, at = list(words), _position(words, argument)
    if at is None:
        return (*found, argument, str(value))
    found[at] = str(value) if at and found[at - 1] == argument else f"{argument}={value}"
    return tuple(found)


def value_of(words: Sequence[str], argument: str) -> str:
    """What the script's words give an argument; empty where it is not there."""
    at = _position(words, argument)
    return "" if at is None else words[at].removeprefix(f"{argument}=")


def _position(words: Sequence[str], argument: str) -> int | None:
    """Of the word that holds its value: `--size=8`, or the one after `--size`."""
    for at, word in enumerate(words):
        if word.startswith(f"{argument}=") or (at and words[at - 1] == argument):
            return at
    return None


def _typical_ms(trial: Trial, settings: TrialSettings) -> float:
    steps = step_ms(trial, settings.ticks_per_step)[UNTIMED_STEPS - 1 :]
    if not len(steps):
        raise DiagnoseError("The script has too few steps for that.", saw=f"it ended as {trial['ended']}")
    return float(np.median(steps))


def _look(folder: Path) -> MemoryLook:
    path = folder / "rank0" / "memory.json"
    if not path.exists():
        raise DiagnoseError(
            "What fills the script's memory was not seen.",
            do="torch.compile and captured graphs cannot be looked at, nor a script that ends within "
            f"{UNTIMED_STEPS + TIMED_STEPS + 2} steps",
        )
    return MemoryLook(json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Fit:
    """What a batch size needs. ``step_ms``: None where the two runs do not tell; ``peak_bytes``: in tensors;
    ``total_bytes``: with all else that is held; ``is_far``: far from what was run, where it may be otherwise.
    """

    batch_size: int
    step_ms: float | None
    peak_bytes: int
    total_bytes: int
    is_far: bool


class Fitting:
    """Any batch size, from runs with two."""

    def __init__(self, one: Probe, other: Probe) -> None:
        """Raises DiagnoseError where one cannot be told from the other."""
        self.probes = one, other
        peaks = [probe.memory.peaks[0] for probe in self.probes]
        self.device = peaks[0].device
        self._model = BatchModel(one, other, self.device)
        self._beside = max(_beside(peak) for peak in peaks)

    def fit(self, batch_size: int) -> Fit:
        peak = self._model.peak_bytes(batch_size)
        return Fit(
            batch_size, self._step_ms(batch_size), peak, peak + self._beside, self._model.is_far(batch_size)
        )

    def _step_ms(self, batch_size: int) -> float | None:
        """On the line through both; a larger batch that was not slower tells of a busy machine."""
        for probe in self.probes:
            if probe.batch_size == batch_size:
                return probe.step_ms
        small, large = sorted(self.probes, key=lambda probe: probe.batch_size)
        if large.step_ms <= small.step_ms:
            return None
        slope = (large.step_ms - small.step_ms) / (large.batch_size - small.batch_size)
        return max(0.0, large.step_ms + slope * (batch_size - large.batch_size)) or None

    def largest(self, limit: int) -> Fit | None:
        """The largest that fits in so many bytes, with all else that is held; None if none does."""
        found = self._model.largest(limit - self._beside)
        return self.fit(found) if found else None


def _beside(peak: MemoryPeak) -> int:
    """What is held beside tensors."""
    return max(0, peak.total - peak.tensors)
