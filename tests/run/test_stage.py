"""How far a recording is, as its process publishes it and as the parent understands it."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.run.child import shared_state
from diagnose.run.child.phases.schedule import SECOND, Budget
from diagnose.run.child.shared_state import SharedState
from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target
from diagnose.run.stage import Stage, Stages


@pytest.mark.parametrize(
    ("step_s", "steps"),
    [
        (0.1, 20),  # 2 s in all
        (0.5, 20),
        (1, 10),  # the time of 10 s
        (3, 5),  # the time is up after 4 steps, but 5 are the least
        (7, 5),  # 35 s: the limit of 30 s is passed with the fifth
        (12, 3),
        (40, 1),
    ],
)
def test_how_many_steps_a_phase_has_follows_from_its_budget(step_s: float, steps: int) -> None:
    budget = Budget(20, at_least=5, time_ns=10 * SECOND, time_limit_ns=30 * SECOND)
    step_ns = int(step_s * SECOND)
    assert budget.expected_steps(step_ns) == steps
    ends = [number for number in range(1, 21) if budget.used_up(number, number * step_ns)]
    assert ends[0] == steps


def test_the_page_carries_the_stage_and_the_ticks(tmp_path: Path) -> None:
    child, parent = SharedState(str(tmp_path)), SharedState(str(tmp_path))
    assert (parent.phase, parent.ticks) == ("", 0)
    child.ticks = 7
    budget = Budget(20, at_least=5)
    child.stage = shared_state.Stage("timing plain steps", budget, 2, 3 * SECOND)
    assert (parent.stage, parent.ticks) == (
        shared_state.Stage("timing plain steps", budget, 2, 3 * SECOND),
        0,
    )
    child.ticks = 5
    assert parent.ticks == 5
    child.stage = shared_state.Stage("é" * 300)
    assert parent.phase.startswith("é" * 99) and parent.ticks == 0
    assert (parent.leader, parent.last_tick, parent.ranks) == (0, 0, 0)
    assert parent.slots() == []


def test_the_pace_is_the_one_before_until_two_steps_of_the_phase_were_seen(tmp_path: Path) -> None:
    page = SharedState(str(tmp_path))
    moments = iter([0.0, 1.0, 3.0, 5.0, 41.0, 50.0])
    stages = Stages(page, lambda: next(moments))
    assert stages.now() == Stage("")
    page.stage = shared_state.Stage(
        "timing plain steps", Budget(20, 5, 10 * SECOND, 30 * SECOND), 2, SECOND // 4
    )
    assert stages.now() == Stage("timing plain steps", 0, 20, 5.0)
    page.ticks = 3
    assert stages.now() == Stage("timing plain steps", 1, 20, 4.75)
    page.ticks = 4  # two steps in 4 s: 2 s a step, of which the phase's 10 s hold 5
    assert stages.now() == Stage("timing plain steps", 2, 5, 6.0)
    page.ticks = 14  # a reader that comes late is not told of more steps than there are
    assert stages.now() == Stage("timing plain steps", 5, 5, 0.0)
    page.stage = shared_state.Stage("writing the timeline")
    assert stages.now() == Stage("writing the timeline")


SCRIPT = """
import time, torch
parameter = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([parameter], lr=0.1)
for step in range(400):
    time.sleep(0.15)
    parameter.sum().backward()
    optimizer.step()
"""


@pytest.mark.live
def test_a_recording_says_how_many_steps_its_phases_take_and_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    seen: list[Stage] = []
    launch(
        Target("train.py", False, ()),
        Settings(steps=4, plain_steps=8, stacks=False, device="cpu"),
        tmp_path / "out",
        seen.append,
    )
    texts = list(dict.fromkeys(stage.text for stage in seen))
    wanted = ["", "warming up", "timing plain steps", "recording the timeline"]
    assert [text for text in texts if text in wanted] == wanted
    plain = [stage for stage in seen if stage.text == "timing plain steps"]
    assert {stage.steps for stage in plain} == {8}
    done = [stage.done for stage in plain]
    assert done == sorted(done) and done[-1] >= 2 > done[0]
    assert all(stage.left_s is not None and stage.left_s > 0 for stage in plain[:1])
