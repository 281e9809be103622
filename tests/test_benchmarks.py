"""Benchmarks are commands, which no test times; but each still finds what it imports."""

import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "name", [path.stem for path in sorted((Path(__file__).parent / "benchmarks").glob("*.py"))]
)
def test_the_benchmark_can_be_started(name):
    assert callable(importlib.import_module(f"tests.benchmarks.{name}").main)
