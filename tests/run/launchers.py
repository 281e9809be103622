"""Launchers of a job as torchrun would start them."""

from __future__ import annotations

from diagnose.run.job.peers import Peers, peers_of


def environment(rank: int, **more: str) -> dict[str, str]:
    """Of one of two ranks on one machine, with some variables given other values."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_PORT": "29500",
        **more,
    }


def peers(rank: int, **more: str) -> Peers:
    found = peers_of(environment(rank, **more))
    assert found is not None
    return found


def on_machine(node: int, **more: str) -> Peers:
    """One of two machines with a rank each."""
    of_machine = {
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": str(node),
        "GROUP_WORLD_SIZE": "2",
    }
    return peers(node, **of_machine, MASTER_ADDR="node7", **more)
