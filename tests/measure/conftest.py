"""The calls that rules are about are events like any other: tests of what is measured know them."""

from __future__ import annotations

from diagnose.judge.rules import load_rules

load_rules()
