"""How a benchmark reads its command line."""

from __future__ import annotations

import argparse


def parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """For the benchmark of this name; ``about`` is its module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
