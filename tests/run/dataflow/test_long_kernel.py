"""Convolutions with a long kernel, tried by spectra."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional

from tests.run.dataflow.looking import seen

HERE = Path(__file__)


def test_an_impulse_response_is_applied() -> None:
    """1,024 multiplications for each of 8 x 7,000 numbers; spectra take some 26."""
    waves, response = torch.rand(1, 8, 8023), torch.rand(8, 1, 1024)
    (line,) = seen(lambda: functional.conv1d(waves, response, groups=8))["long_kernel"]
    assert line["file"] == str(HERE) and line["call_count"] == 1
    assert line["left_ns"] < 0.5 * line["ns"]


@pytest.mark.parametrize(("taps", "options"), [(15, {}), (128, {"stride": 2}), (128, {"dilation": 2})])
def test_others_are_not_tried(taps: int, options: dict[str, int]) -> None:
    waves, kernel = torch.rand(1, 2, 800), torch.rand(2, 2, taps)
    assert seen(lambda: functional.conv1d(waves, kernel, **options))["long_kernel"] == []
