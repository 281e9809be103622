"""Every shape of loop finds its clock and goes through all phases."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable

import pytest

from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording

from .running import SCRIPTS, Recorded, run_plain, without_times

Run = Callable[..., Recorded]


@pytest.mark.parametrize(
    ("script", "clock", "ticks_per_step", "backwards"),
    [
        pytest.param(("plain", "150"), "optimizer", 1, (1, 1), marks=pytest.mark.long),
        pytest.param(("gan",), "optimizer", 2, (2, 2), marks=pytest.mark.long),
        pytest.param(("lbfgs",), "optimizer", 1, (1.5, 7), marks=pytest.mark.long),
        pytest.param(("lbfgs", "30", "3"), "backward", 1, (1, 1), marks=pytest.mark.long),
        (("accumulation",), "optimizer", 1, (4, 4)),
        pytest.param(("scaler",), "optimizer", 1, (1.2, 1.8), marks=pytest.mark.long),
        pytest.param(("by_hand",), "backward", 1, (1, 1), marks=pytest.mark.long),
        pytest.param(("by_hand", "unused-optimizer"), "backward", 1, (1, 1), marks=pytest.mark.long),
        pytest.param(("conv",), "forward", 1, (0, 0), marks=pytest.mark.long),
        (("compiled",), "optimizer", 1, (1, 1)),
        pytest.param(("compiled_inference",), "forward", 1, (0, 0), marks=pytest.mark.long),
        pytest.param(("workers", "fork", "4"), "optimizer", 1, (1, 1), marks=pytest.mark.long),
        pytest.param(("ending", "exit7", "150"), "optimizer", 1, (1, 1), marks=pytest.mark.long),
        pytest.param(("children", "spawn", "150"), "optimizer", 1, (1, 1), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_all_phases_and_the_script_is_what_it_is_without_us(
    run_script: Run, script: tuple[str, ...], clock: str, ticks_per_step: int, backwards: tuple[float, float]
) -> None:
    run = run_script(*script, keep_going=True)
    assert (run.steps["clock"], run.steps["ticks_per_step"]) == (clock, ticks_per_step)
    assert backwards[0] <= run.steps["per_step"]["backward"] <= backwards[1]
    assert {name: run.steps_in(name) for name in ("plain", "timeline", "detail")} == {
        "plain": 10,
        "timeline": 4,
        "detail": 1,
    }
    assert run.steps["notes"] == []

    plain = run_plain(*script)
    assert run.outcome.exit_code == plain.returncode
    assert run.outcome.ended == ("crashed" if plain.returncode else "finished")
    # the final loss among it; ranks in any order
    assert sorted(run.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    assert without_times(run.stderr) == without_times(plain.stderr)


@pytest.mark.parametrize(
    ("steps", "plain", "timeline"),
    [
        pytest.param(1, 0, 0, marks=pytest.mark.long),
        pytest.param(2, 0, 1, marks=pytest.mark.long),
        pytest.param(3, 0, 2, marks=pytest.mark.long),
        (9, 3, 2),
    ],
)
def test_a_short_script_gets_what_is_possible(run_script: Run, steps: int, plain: int, timeline: int) -> None:
    run = run_script("ending", "normally", str(steps))
    assert (run.outcome.ended, run.outcome.exit_code) == ("finished", 0)
    assert run.steps["tick_count"] == steps
    assert run.steps_in("timeline") == timeline
    assert run.steps_in("plain") <= plain
    if timeline:
        phase = next(phase for phase in run.steps["phases"] if phase["name"] == "timeline")
        assert phase["cold"]
        assert (run.folder / "rank0" / phase["trace"]).stat().st_size > 0
        assert run.steps["notes"]


def test_no_stacks_skips_the_detail_phase(run_script: Run) -> None:
    run = run_script("plain", stacks=False)
    assert run.outcome.ended == "stopped"
    assert [phase["name"] for phase in run.steps["phases"]] == ["warmup", "plain", "parts", "timeline"]


def test_training_in_a_thread(run_script: Run) -> None:
    run = run_script("in_thread", "100000")
    assert run.outcome.ended == "stopped"
    assert run.stdout == "main thread ends\n"
    assert run.steps["thread"] != "MainThread"
    assert run.steps_in("detail") == 1
    measured = Measured(load_recording(run.folder))
    assert measured.detail is not None
    assert {"train"} == set(measured.detail.calls["function"])  # not the main thread's, which waits


@pytest.mark.long
def test_a_thread_that_ends_by_itself_leaves_its_recording(run_script: Run) -> None:
    run = run_script("in_thread", "3", "wait")
    assert run.outcome.ended == "finished"
    assert run.steps_in("timeline") == 2


@pytest.mark.parametrize("how", [pytest.param("spawn", marks=pytest.mark.long), "fork"])
def test_children_that_train(run_script: Run, how: str) -> None:
    run = run_script("children", how, "100000")
    assert run.outcome.ended == "stopped"
    assert run.stderr == ""
    assert run.stdout == "parent ends\n"
    assert run.steps_in("timeline") == 4


@pytest.mark.parametrize(
    ("how", "epochs", "settings"),
    [
        pytest.param("spawn", "1000", {}, marks=pytest.mark.long),
        ("fork", "16", {"keep_going": True, "plain_steps": 160}),
    ],
    ids=["spawn", "fork"],
)
def test_loader_workers_are_timed_but_never_recorded(
    run_script: Run, how: str, epochs: str, settings: dict[str, int]
) -> None:
    run = run_script("workers", how, epochs, **settings)
    assert run.outcome.ended == ("finished" if settings else "stopped")
    assert run.stderr == ""
    records = list(struct.iter_unpack("<QQQqII", (run.folder / "rank0" / "loading.bin").read_bytes()))
    # the first one of each worker also tells that it drew no random numbers
    assert Counter(flags for *_, flags in records)[1 | 2] == len({pid for *_, pid, _ in records})
    assert {flags for *_, flags in records} == {1, 1 | 2}
    assert len({pid for *_, pid, _ in records}) >= 2
    assert run.steps["pid"] not in {pid for *_, pid, _ in records}
    assert all(duration >= 12_000_000 for _, duration, *_ in records)  # four items of three milliseconds
    # each worker is asked about itself: how long it had no core. A sleep's end is set before the interpreter's
    # lock is given up, so a core lost in between is part of the three milliseconds, too
    assert all(-1 <= delay <= duration - worked for _, duration, worked, delay, *_ in records)
    delayed_awake = [delay <= duration - 12_000_000 for _, duration, _, delay, *_ in records]
    assert sum(delayed_awake) > 0.9 * len(records)
    (loader,) = run.facts["loaders"]
    assert (loader["num_workers"], loader["dataset"], loader["dataset_length"], loader["function"]) == (
        2,
        "Slow",
        64,
        "main",
    )
    assert (loader["sample_made"]["line"], loader["sample_made"]["function"]) == (19, "__getitem__")
    told = [
        json.loads(line) for line in (run.folder / "rank0" / "worker_lines.jsonl").read_text().splitlines()
    ]
    assert {one["pid"] for one in told} <= {pid for *_, pid, _ in records}
    looks: Counter[tuple[int, str]] = Counter()
    for one in told:
        for file, line, function, _, count in one["lines"]:
            assert (file, function) in {(str(SCRIPTS / "workers.py"), "__getitem__"), ("", "")}
            looks[line, function] += count
    assert looks[20, "__getitem__"] > 0.7 * looks.total()  # where it sleeps; some 60 looks in all
