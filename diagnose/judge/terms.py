"""The words that rules, findings and the result document use, each a closed set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Status = Literal["preview", "stable", "deprecated"]
Safety = Literal["exact", "numerics", "manual"]
Scope = Literal["step", "average", "component", "hypothetical", "information"]
Op = Literal[">=", ">", "<=", "<", "==", "!="]
State = Literal["fires", "quiet", "abstains", "error"]
Group = Literal["plan", "alternative", "minor", "hypothetical", "information"]
Severity = Literal["low", "medium", "high"]
Framework = Literal["torch", "tensorflow", "jax"]
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high")  # from the least on
Confidence = Literal["high", "medium", "low"]

# What reports say for them.
FRAMEWORK_WORDS: Mapping[Framework, str] = {"torch": "torch", "tensorflow": "TensorFlow", "jax": "JAX"}
STATUS_WORDS: Mapping[Status, str] = {"preview": "preview", "stable": "proven", "deprecated": "deprecated"}
SAFETY_WORDS: Mapping[Safety, str] = {
    "exact": "results stay the same",
    "numerics": "results change in the last digits",
    "manual": "only the author of the script can judge the change",
}
