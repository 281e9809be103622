"""The words that rules, findings and the result document use, each a closed set."""

from __future__ import annotations

from typing import Literal

Status = Literal["preview", "stable", "deprecated"]
Safety = Literal["exact", "numerics", "manual"]
Scope = Literal["step", "average", "component", "hypothetical", "information"]
Op = Literal[">=", ">", "<=", "<", "==", "!="]
State = Literal["fires", "quiet", "abstains", "error"]
Group = Literal["plan", "alternative", "minor", "hypothetical", "information"]
Severity = Literal["low", "medium", "high"]
Confidence = Literal["high", "medium", "low"]
