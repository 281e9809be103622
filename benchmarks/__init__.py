"""Everything that prints a number which the documentation quotes: `python -m benchmarks`."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
