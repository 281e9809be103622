"""Writes what is made from data (`make docs`): see `PAGES`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.samples import SAMPLES
from benchmarks.tables import readme as samples
from diagnose.document.schema import json_schema
from diagnose.document.text import code, prose
from diagnose.fixes.all import FIXES
from diagnose.fixes.fix import TOLERANCE, Argument, Fix
from diagnose.judge.rules import load_rules
from diagnose.measure.metrics import METRICS
from diagnose.report.blocks import unpadded_table
from diagnose.report.rulebook import rulebook
from diagnose.trace.schema import markdown as tables
from docs.readme import README, ROOT, readme

OUTSIDE = "outside: training quality and style, which no profile shows"


def coverage() -> str:
    """What the field advises, and where it is: docs/coverage.toml as tables."""
    listed = tomllib.loads((ROOT / "docs" / "coverage.toml").read_text(encoding="utf-8"))
    field = [(prose(row["area"]), prose(row["item"]), _answer(row)) for row in listed["advice"]]
    peers = [(row["id"], prose(row["symptom"]), _answer(row)) for row in listed["peer"]]
    return (
        "\n\n".join(
            [
                "# Coverage",
                "What people are advised to do about slow PyTorch scripts, and the rule that says it, the "
                "rule's fix that names it, or the fact the report shows. Written by `make docs` from "
                "`docs/coverage.toml`.",
                "## The field's advice",
                unpadded_table(("Area", "Advice", "Covered by"), field),
                "## Rules of other tools",
                "A input, B copies and syncs, C host and launches, D compute, E memory, F optimizer and "
                "layers, G communication, H run.",
                unpadded_table(("#", "Symptom", "Covered by"), peers),
                "## The source documents",
                "The texts that this project began with, point by point (`docs/sources.toml`), and a command "
                "that shows each.",
                *_sources(),
            ]
        )
        + "\n"
    )


def _sources() -> Iterator[str]:
    """The points of each document, with a heading."""
    listed = tomllib.loads((ROOT / "docs" / "sources.toml").read_text(encoding="utf-8"))
    for document in listed["document"]:
        points = [_point(row) for row in document["point"]]
        yield f"### {document['title']}"
        yield unpadded_table(("Point", "Covered by", "Shown by"), points)


def _point(row: dict[str, Any]) -> tuple[str, str, str]:
    return prose(row["item"]), *((OUTSIDE, "") if row.get("outside") else (_answer(row), code(shown(row))))


def shown(point: Mapping[str, Any]) -> str:
    """The command that shows a point: on the sample of one of its rules, else the rule itself."""
    if "shown" in point:
        return str(point["shown"])
    rules = point.get("rules", [])
    scripts = (sample.script for rule in rules for sample in SAMPLES if sample.rule == rule)
    script = next(scripts, None)
    return (
        f"python -m diagnose {script.relative_to(ROOT)}" if script else f"python -m diagnose rules {rules[0]}"
    )


def _answer(row: dict[str, object]) -> str:
    """The rules that cover a row, then how, or why none does."""
    rules = ", ".join(code(str(rule)) for rule in row.get("rules", []))  # type: ignore[attr-defined]
    return ": ".join(filter(None, [rules, prose(str(row.get("how", "")))]))


def automatic_fixes() -> str:
    """What `verify --try` takes and the rules' `intervention` names."""
    intro = (
        "What `verify` makes by itself, inside the process of a trial: the `intervention` of a rule, or one "
        "named on the command line, as in `python -m diagnose verify RUN --try dataloader:num_workers=2`. "
        f"Of a *tuned* number the best is searched for. Losses may deviate by {TOLERANCE:.0%} where nothing "
        "else is said. Where `fixes.diff` cannot hold the fix, the reason is given. Written by `make docs` "
        "from `diagnose/fixes/all.py`."
    )
    rows = [
        (code(fix.name), _what(fix), ", ".join(map(_argument, fix.arguments)), prose(fix.by_hand) or "patch")
        for fix in FIXES.values()
    ]
    head = ("Fix", "What it does", "Arguments", "In `fixes.diff`")
    return "\n\n".join(["# Automatic fixes", intro, unpadded_table(head, rows)]) + "\n"


def _what(fix: Fix) -> str:
    return (
        fix.what if fix.tolerance == TOLERANCE else f"{fix.what}; losses may deviate by {fix.tolerance:.0%}"
    )


def _argument(argument: Argument) -> str:
    return code(argument.name) + (" (tuned)" if argument.largest else "")


PAGES = {
    README: readme,
    ROOT / "docs" / "tables.md": tables,
    ROOT / "docs" / "coverage.md": coverage,
    ROOT / "docs" / "fixes.md": automatic_fixes,
    ROOT / "docs" / "report.schema.json": lambda: (
        json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    ),
    ROOT / "rules" / "README.md": lambda: rulebook(load_rules(), METRICS),
    ROOT / "sample_traces" / "README.md": samples,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
        print(path.relative_to(ROOT))
