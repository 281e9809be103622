"""Long kernels by spectra."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from diagnose.run.child.products.long_kernel import by_spectra, fast_length


@pytest.mark.parametrize(("channels", "outputs", "groups"), [(1, 1, 1), (4, 4, 4), (4, 6, 2), (3, 5, 1)])
@pytest.mark.parametrize("padding", [0, 7])
@pytest.mark.parametrize("bias", [False, True])
def test_spectra_give_the_same(channels: int, outputs: int, groups: int, padding: int, bias: bool) -> None:
    signal, kernel = torch.rand(2, channels, 50), torch.rand(outputs, channels // groups, 11)
    added = torch.rand(outputs) if bias else None
    expected = functional.conv1d(signal, kernel, added, padding=padding, groups=groups)
    found = by_spectra(signal, kernel, added, padding=padding, groups=groups)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("least", "length"), [(1, 1), (7, 8), (17, 18), (49, 50), (97, 100), (1000, 1024)])
def test_lengths_of_small_factors(least: int, length: int) -> None:
    assert fast_length(least) == length
