"""Scripts that end soon, or are killed, leave what was recorded and timed until then."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.measure.recording import load_recording
from diagnose.run.child.steps.ticks import FILE, Progress, TickLog, read_ticks

from .running import Recorded

Run = Callable[..., Recorded]


def counts(run: Recorded) -> dict[str, int]:
    """Steps by phase, as the analysis reads them."""
    recording = load_recording(run.folder)
    return {phase["name"]: len(recording.step_ns(phase["name"])) for phase in recording.clock["phases"]}


def test_four_steps_give_a_timeline_and_lines(run_script: Run) -> None:
    # The first tick ends the first step: two steps of timeline, and one of detail, are all the rest.
    run = run_script("ending", "normally", "4", steps=None)
    assert counts(run) == {"warmup": 3, "timeline": 2, "detail": 1}
    assert run.json("rank0/detail.calls.json")["line"]


def test_of_what_ends_with_the_script_its_facts_are_there(run_script: Run) -> None:
    """Its model and its optimizer are gone by then."""
    run = run_script("plain", "4", steps=None)
    assert run.outcome.ended == "finished"
    (model,), (optimizer,) = run.facts["models"], run.facts["optimizers"]
    assert (model["class"], optimizer["class"]) == ("Sequential", "Adam")


@pytest.mark.long
def test_twelve_steps_give_plain_steps_too(run_script: Run) -> None:
    # Four steps as before, three to settle, three plain ones: two are left for a timeline of warm steps.
    run = run_script("ending", "normally", "12", steps=None)
    assert counts(run)["plain"] == 3
    assert {"timeline", "detail"} <= counts(run).keys()
    assert run.steps["notes"] == []  # no word of a script that had not warmed up


@pytest.mark.long
def test_twenty_five_steps_and_an_exception(run_script: Run) -> None:
    run = run_script("ending", "raise", "25", steps=None)
    assert (run.outcome.ended, run.outcome.exit_code) == ("crashed", 1)
    assert {"plain", "parts", "timeline", "detail"} <= counts(run).keys()


@pytest.mark.parametrize(
    ("steps", "least_plain"), [("10", 2), pytest.param("60", 20, marks=pytest.mark.long)]
)
def test_what_was_timed_survives_sigkill(run_script: Run, steps: str, least_plain: int) -> None:
    run = run_script("ending", "sigkill", steps, steps=None)
    assert run.outcome.ended == "killed"
    assert counts(run)["plain"] >= least_plain
    assert {"timeline", "detail"} <= counts(run).keys()
    # what fills memory is looked at once the short round is over
    assert (run.folder / "rank0" / "memory.json").exists() == (steps == "60")


def test_the_log_tells_of_the_phase_in_progress_only(tmp_path: Path) -> None:
    log = TickLog(str(tmp_path))
    assert read_ticks(str(tmp_path)) is None
    log.begin("warmup", 0, 100)
    log.add(150)
    log.begin("plain", 5, 1_000)
    for now_ns in (1_010, 1_020, 1_030):
        log.add(now_ns)
    log.move_last(1_035)
    assert read_ticks(str(tmp_path)) == Progress("plain", 5, [1_000, 1_010, 1_020, 1_035])
    log.remove()
    assert read_ticks(str(tmp_path)) is None


def test_a_log_with_more_ticks_than_room_keeps_the_first(tmp_path: Path) -> None:
    log = TickLog(str(tmp_path))
    log.begin("plain", 0, 0)
    for number in range(1, 10_000):
        log.add(number)
    log.move_last(-1)  # of a tick that is not in it
    progress = read_ticks(str(tmp_path))
    assert progress is not None
    assert progress.tick_ns == list(range(len(progress.tick_ns)))
    assert len(progress.tick_ns) > 8_000


@pytest.mark.parametrize("damage", [b"", b"\0" * 24, b"\xff" * 4_000, (9).to_bytes(8, "little") * 100])
def test_a_damaged_log_is_no_log(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    assert read_ticks(str(tmp_path)) is None


def test_plain_steps_go_on_until_an_epochs_validation_has_come(run_script: Run) -> None:
    """Steps of 2 ms: 1.2 s of them end before the 700 of an epoch do."""
    run = run_script("validates", steps=None)
    (plain,) = (phase for phase in run.steps["phases"] if phase["name"] == "plain")
    (work,) = run.json("rank0/facts.json")["rare_work"]
    assert (work["line"], work["seen"]) == (29, True)
    longest_ns = max(end - begin for begin, end in itertools.pairwise(plain["tick_ns"]))
    assert longest_ns >= 100_000_000 and len(plain["tick_ns"]) > 600
    assert {"timeline", "detail"} <= {phase["name"] for phase in run.steps["phases"]}
