"""All metrics there are: importing this module registers them."""

from . import facts, timings
from .measured import METRICS, Measured, Metric, Missing, Value

__all__ = ["METRICS", "Measured", "Metric", "Missing", "Value", "facts", "timings"]
