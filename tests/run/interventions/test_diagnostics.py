"""What looks for faults is off: anomaly mode, emptied caches, the own profiler."""

from __future__ import annotations

import pytest
import torch

from .trying import Apply, told


def test_anomaly_mode_stays_off(apply: Apply) -> None:
    switching = apply("anomaly_mode_off")
    torch.autograd.set_detect_anomaly(True)
    assert not torch.is_anomaly_enabled()
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Anomaly"),
        torch.autograd.detect_anomaly(),
    ):
        assert not torch.is_anomaly_enabled()
    assert told(switching) == (3, "")
    torch.autograd.set_detect_anomaly(False)
    assert switching.held == 3


def test_the_cache_is_not_emptied(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[int] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(1))
    keeping = apply("empty_cache_off")
    torch.cuda.empty_cache()
    assert (emptied, keeping.held) == ([], 1)
    keeping.remove()
    torch.cuda.empty_cache()
    assert emptied == [1]


def test_only_the_anomaly_mode_of_the_lines_in_question(apply: Apply) -> None:
    switching = apply("anomaly_mode_off", 1)
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
    assert told(switching) == (0, "Nothing switched anomaly mode on there.")


def test_the_scripts_own_profiler_records_nothing(apply: Apply) -> None:
    silencing = apply("own_profiler_off")
    assert silencing.why_not == "The script started no profiler of torch's."
    for _ in range(2):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            torch.ones(1) + 1
            assert not torch.autograd._profiler_enabled()
        (told_so,) = profiler.key_averages()
        assert "not recorded" in told_so.key
    assert told(silencing) == (2, "")
