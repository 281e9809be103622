"""Every rank of a script that starts its ranks itself is recorded, in the same steps as the others."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import pytest

from diagnose.pipeline import analyse

from .running import Recorded, run_plain

Run = Callable[..., Recorded]


def phases_of(run: Recorded, rank: int) -> dict[str, tuple[int, int]]:
    """First and last tick of each phase."""
    phases = run.json(f"rank{rank}/steps.json")["phases"]
    return {
        phase["name"]: (phase["first_tick"], phase["first_tick"] + len(phase["tick_ns"]) - 1)
        for phase in phases
    }


@pytest.mark.parametrize(
    ("script", "settings"),
    [
        (("spawn", "2", "plain", "100000"), {}),
        pytest.param(("fork", "4", "plain", "100000"), {}, marks=pytest.mark.long),
        pytest.param(("spawn", "2", "accumulates", "80"), {"keep_going": True}, marks=pytest.mark.long),
        pytest.param(("spawn", "2", "sharded", "80"), {"keep_going": True}, marks=pytest.mark.long),
        pytest.param(("fork", "4", "accumulates", "100000"), {}, marks=pytest.mark.long),
        pytest.param(("fork", "4", "sharded", "100000"), {}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_all_ranks_record_the_same_steps(
    run_script: Run, script: tuple[str, ...], settings: dict[str, Any]
) -> None:
    run = run_script("ranks", *script, **settings)
    ranks = range(int(script[1]))
    assert sorted(path.name for path in run.folder.glob("rank*")) == [f"rank{rank}" for rank in ranks]
    first = phases_of(run, 0)
    assert list(first) == ["warmup", "plain", "parts", "timeline", "detail"]
    assert [
        end - begin for name, (begin, end) in first.items() if name in ("plain", "timeline", "detail")
    ] == [10, 4, 1]
    assert 3 <= first["parts"][1] - first["parts"][0] <= 8
    for rank in ranks:
        assert phases_of(run, rank) == first
        assert run.json(f"rank{rank}/steps.json")["notes"] == []
        assert run.json(f"rank{rank}/facts.json")["process_group"]["rank"] == rank
    assert sorted(path.name for path in run.folder.iterdir()) == [
        *(f"rank{rank}" for rank in ranks),
        "run.json",
    ]
    assert not list(run.folder.glob("rank*/elected"))
    if settings:
        plain = run_plain("ranks", *script)
        assert (run.outcome.ended, run.outcome.exit_code) == ("finished", plain.returncode)
        assert sorted(run.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    else:
        assert (run.outcome.ended, run.outcome.exit_code, run.stdout, run.stderr) == (
            "stopped",
            0,
            "parent ends\n",
            "",
        )


@pytest.mark.long
def test_each_ranks_workers_write_into_its_folder(run_script: Run) -> None:
    run = run_script("ranks", "spawn", "2", "workers", "60", keep_going=True)
    assert (run.outcome.ended, run.outcome.exit_code) == ("finished", 0)
    pids = []
    for rank in range(2):
        records = list(
            struct.iter_unpack("<QQQqII", (run.folder / f"rank{rank}" / "loading.bin").read_bytes())
        )
        assert len(records) == 60
        assert {worker for *_, worker in records} == {1}
        pids += list({pid for *_, pid, _ in records})
    assert len(set(pids)) == 2


@pytest.mark.long
@pytest.mark.parametrize("how", ["raises", "is-killed"])
def test_when_one_rank_is_lost_what_was_written_stays(run_script: Run, how: str) -> None:
    run = run_script("ranks", "spawn", "2", how, "60", plain_steps=5, stacks=False, keep_going=True)
    assert (run.outcome.ended, run.outcome.exit_code) == ("crashed", 1)
    assert "diagnose:" not in run.stderr
    for rank in range(2):
        assert "timeline" in phases_of(run, rank)


@pytest.mark.long
def test_a_rank_that_is_ended_writes_what_it_records(run_script: Run) -> None:
    """Rank 1 leaves while rank 0 waits for ever: torch.multiprocessing ends rank 0 by SIGTERM."""
    run = run_script("ranks", "spawn", "2", "leaves", "60", plain_steps=1000)
    assert (run.outcome.ended, run.outcome.exit_code) == ("crashed", 1)
    for rank in range(2):
        assert list(phases_of(run, rank))[:2] == ["warmup", "plain"]
        assert phases_of(run, rank)["plain"][1] == 55  # the last step of 56


@pytest.mark.long
def test_a_rank_that_is_killed_while_it_records_is_told(run_script: Run) -> None:
    run = run_script("ranks", "spawn", "2", "is-killed", "60", plain_steps=1000)
    end = json.loads((run.folder / "rank1" / "ended.json").read_text())
    assert (end["ended"], end["exit_code"], end["signal"]) == ("killed", None, None)
    assert any(note.text.startswith("Rank 1 was killed before") for note in analyse(run.folder).notes)
