"""A look at another thread leaves Python's switch interval to the script."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from diagnose.run.child.lines.looks import seen_now


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.007)  # 6,999 microseconds, as Python rounds
    yield
    sys.setswitchinterval(before)


def looked(meanwhile: object) -> float:
    """The interval after a look, while which that is called."""
    seen_now(0, lambda frame: None, wait=lambda _: meanwhile())  # type: ignore[operator]
    return sys.getswitchinterval()


def test_it_is_what_it_was_however_often() -> None:
    before = sys.getswitchinterval()
    assert [looked(lambda: None) for _ in range(20)] == [before] * 20


def test_one_that_the_script_sets_meanwhile_stays() -> None:
    assert looked(lambda: sys.setswitchinterval(0.003)) == pytest.approx(0.003)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_the_scripts() -> None:
    codes: list[int] = []
    before = sys.getswitchinterval()

    def forks() -> None:
        child = os.fork()
        if not child:
            os._exit(0 if sys.getswitchinterval() == before else 1)
        codes.append(os.waitpid(child, 0)[1])

    looked(forks)
    assert codes == [0]
