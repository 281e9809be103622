"""All metrics there are: importing this module registers them."""

from diagnose.measure import facts, timings
from diagnose.measure.measured import METRICS, Measured, Metric, Missing, Value

__all__ = ["METRICS", "Measured", "Metric", "Missing", "Value", "facts", "timings"]
