"""What torchrun tells the launchers of a job."""

from __future__ import annotations

import pytest

from diagnose.run.job.peers import Peers, peers_of
from diagnose.run.settings import RunOutcome

from .launchers import environment, peers


def test_a_launcher_alone_has_no_peers() -> None:
    assert peers_of({}) is None
    assert peers_of({"RANK": "0", "WORLD_SIZE": "2"}) is None  # of another launcher than torchrun
    assert peers_of(environment(0) | {"WORLD_SIZE": "1"}) is None


def test_one_of_two_on_one_machine() -> None:
    one = peers(1)
    assert (one.rank, one.local_rank, one.local_count, one.node, one.machines, one.world_size) == (
        1,
        1,
        2,
        0,
        1,
        2,
    )
    assert (peers(0).leads, one.leads) == (True, False)


def test_one_of_eight_on_four_machines() -> None:
    told = environment(5, WORLD_SIZE="8", LOCAL_RANK="1", GROUP_RANK="2")
    assert [
        (one.node, one.machines)
        for one in (peers_of(told), peers_of(told | {"GROUP_WORLD_SIZE": "3"}))
        if one
    ] == [(2, 4), (2, 3)]


def test_starts_are_told_apart_and_the_job_is_the_same() -> None:
    first, again, other = (
        peers(0),
        peers(0, TORCHELASTIC_RESTART_COUNT="1", MASTER_PORT="1"),
        peers(0, TORCHELASTIC_RUN_ID="other"),
    )
    assert first.start == peers(1).start
    assert len({first.start, again.start, other.start}) == 3
    assert first.job == again.job == peers(1).job
    assert first.job != other.job
    assert (first.restart, again.restart) == (0, 1)


def test_restarts_that_are_left() -> None:
    def left(restart: str) -> int:
        return peers(0, TORCHELASTIC_MAX_RESTARTS="2", TORCHELASTIC_RESTART_COUNT=restart).restarts_left

    assert [left("0"), left("1"), left("2")] == [2, 1, 0]
    assert peers(0).restarts_left == 0


@pytest.mark.parametrize(
    ("run_id", "name"),
    [("none", "node7-29500"), ("", "node7-29500"), ("my job/3", "my-job-3"), ("0b1c-42", "0b1c-42")],
)
def test_machines_know_the_job_by_a_name(run_id: str, name: str) -> None:
    def on(node: str) -> Peers:
        return peers(
            0, GROUP_RANK=node, GROUP_WORLD_SIZE="2", MASTER_ADDR="node7", TORCHELASTIC_RUN_ID=run_id
        )

    assert (on("0").name, on("1").name) == (name, name)
    assert on("0").job == on("1").job


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (RunOutcome("stopped", 0, None, 1.0), 0),
        (RunOutcome("crashed", 7, None, 1.0), 7),
        (RunOutcome("killed", None, "SIGKILL", 1.0), 137),
    ],
)
def test_the_others_end_with_the_code_of_their_own_script(outcome: RunOutcome, code: int) -> None:
    assert outcome.as_exit_code == code
