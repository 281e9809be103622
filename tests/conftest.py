"""Which tests are *live*: they start a script, a job, a cluster or a browser, and take as long as
that does. `make test-quick` leaves them out (`-m 'not live'`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagnose.commands.pandas_alone import import_pandas_alone

import_pandas_alone()  # as in every process of ours

LIVE_FIXTURES = {"browser", "client", "no_process_left", "on_stubs", "run_script", "wheel"}
LIVE_FILES = {
    "fixes/test_samples.py",
    "run/test_faults.py",
    "run/memory/test_memory_errors.py",
    "run/test_unharmed.py",
    "test_bad_input.py",
    "test_in_process.py",
    "test_sample_tools.py",
    "test_textbook.py",
    "test_torchrun.py",
    "verify/test_jobs.py",
    "verify/test_trials.py",
}
HERE = Path(__file__).parent
_OF_LIBRARIES = {"PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR"}  # set for the whole process

for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    # a shell script ignores them for what it starts with `&`, and so would the scripts of these tests
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

_started: list[str] = []  # scripts, by the test that runs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        in_live_file = item.path.relative_to(HERE).as_posix() in LIVE_FILES
        if in_live_file or LIVE_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.live)
    # Files with live tests first: at the end no process waits for a long one (`--no-loadscope-reorder`).
    live_files = {item.path for item in items if item.get_closest_marker("live")}
    items.sort(key=lambda item: item.path not in live_files)


@pytest.fixture(autouse=True)
def _no_script_unless_live(request: pytest.FixtureRequest) -> Iterator[None]:
    """So that the quick tests stay quick: whoever starts a script is told to say so."""
    _started.clear()
    yield
    if _started and request.node.get_closest_marker("live") is None:
        pytest.fail(f"starts {_started[0]}, so it is live: see {__name__} or mark it", pytrace=False)


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    """What one test leaves in the environment, the scripts of another would run with; and so with cores."""
    before, cores = _environment(), _cores()
    yield
    assert _environment() == before, "the test changed the environment"
    if (left := _cores()) != cores:
        os.sched_setaffinity(0, cores)
        pytest.fail(f"the test left this process on cores {left} of {cores}", pytrace=False)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_LIBRARIES}


def _cores() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _note_scripts(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen" and isinstance(command := arguments[1], (list, tuple)):
        words = [os.fsdecode(word) for word in command]
        of_scripts = any(word.endswith(".py") or word == "torch.distributed.run" for word in words)
        if words[0] == sys.executable and of_scripts and "-c" not in words:
            _started.append(" ".join(words))


sys.addaudithook(_note_scripts)
