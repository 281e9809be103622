"""What an agent gets done with the tools of `diagnose mcp` alone: bundled slow scripts, mended by diffs.

    python -m benchmarks agent [SAMPLE …] [--budget SECONDS] [--write]

A script stands in for the agent, with the SDK's own client: it asks `diagnose` for a script, has `verify`
measure the first fix that a tool can make, makes the change in the file if that is faster and a diff is
there, and asks again, three times at most. In the end `compare` says what all of it gained. Solved: at least
one fix was measured to be faster and made, and the script then takes less. With ``--write`` it goes into
docs/agent.md.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from benchmarks import ROOT
from benchmarks.machine import in_words, machine
from benchmarks.options import parser
from benchmarks.tables import table
from diagnose.report.brief import CHARACTERS_PER_TOKEN

PAGE = ROOT / "docs" / "agent.md"
SAMPLES = ("anomaly", "epoch-start", "input-wait", "optimizer-heavy", "threads")
BUDGET_S, MOST_FIXES = 150, 3


@dataclass
class Work:
    """What came of a sample. ``read``: characters of all answers."""

    sample: str
    made: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # not faster, or without a diff
    steps: list[str] = field(default_factory=list)
    read: int = 0
    seconds: float = 0.0
    compared: str = ""

    @property
    def solved(self) -> bool:
        return bool(self.made) and self.compared.lstrip("*").startswith("B is faster")


async def ask(client: Client, work: Work, tool: str, **arguments: Any) -> Any:
    """A tool's answer. Raises ValueError for a refusal."""
    result = await client.call_tool(tool, arguments, read_timeout_seconds=3600)
    text = "".join(getattr(part, "text", "") for part in result.content)
    work.read += len(text)
    if result.is_error:
        raise ValueError(text)
    return result.structured_content if tool != "compare" else text


async def solve(sample: str, budget_s: int) -> Work:
    """Work on a copy of the sample's slow script."""
    work, began = Work(sample), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agent-") as name:
        script = Path(name) / "train.py"
        shutil.copy(ROOT / "sample_traces" / sample / "sick.py", script)
        server = StdioServerParameters(command=sys.executable, args=["-m", "diagnose", "mcp", name], cwd=name)
        async with Client(server) as client:
            first = told = await ask(client, work, "diagnose", target="train.py")
            for _ in range(MOST_FIXES):
                work.steps.append(told.get("step", ""))
                rule = next(
                    (
                        rule
                        for rule in told.get("verify_can_try", [])
                        if rule not in (*work.made, *work.refused)
                    ),
                    None,
                )
                if rule is None:
                    break
                fix: dict[str, Any] = next((one for one in told["fixes"] if one["rule"] == rule), {})
                measured = await ask(
                    client,
                    work,
                    "verify",
                    run=told["run"],
                    only=[rule],
                    budget_s=budget_s,
                    allow_numerics=fix.get("results") == "numerics",
                )
                found: dict[str, Any] = next(
                    (one for one in measured.get("fixes", []) if one["rule"] == rule), {}
                )
                if found.get("verdict") != "faster" or not found.get("change"):
                    work.refused.append(rule)
                    continue
                script.write_text(changed(script.read_text(), found["change"]))
                work.made.append(rule)
                told = await ask(client, work, "diagnose", target="train.py")
            if work.made:
                work.compared = str(
                    await ask(client, work, "compare", before=first["run"], after=told["run"])
                )
    work.seconds = time.monotonic() - began
    return work


def changed(text: str, change: Sequence[str]) -> str:
    """The file with the lines of a diff taken away and added. Raises ValueError where they are not there."""
    lines, rest = text.splitlines(), list(change)
    while rest:
        taken, added = [], []
        while rest and rest[0].startswith("-"):
            taken.append(rest.pop(0)[1:])
        while rest and rest[0].startswith("+"):
            added.append(rest.pop(0)[1:])
        if not taken and not added:
            rest.pop(0)
            continue
        at = next((at for at in range(len(lines)) if lines[at : at + len(taken)] == taken and taken), None)
        if at is None:
            raise ValueError(f"the file has no lines {taken}")
        lines[at : at + len(taken)] = added
    return "\n".join(lines) + "\n"


def page_of(works: Sequence[Work]) -> str:
    rows = [
        (
            f"`{work.sample}`",
            ", ".join(f"`{rule}`" for rule in work.made) or "–",
            ", ".join(f"`{rule}`" for rule in work.refused) or "–",
            (work.compared.strip().splitlines() or ["–"])[0].strip("*"),
            f"{work.read / CHARACTERS_PER_TOKEN:,.0f}",
            f"{work.seconds:.0f}",
        )
        for work in works
    ]
    return (
        "\n\n".join(
            [
                "# What an agent gets done with the tools alone",
                f"Written by `python -m benchmarks agent --write`, on {in_words(machine())}.",
                "Bundled slow scripts, mended with the tools of `diagnose mcp`: the first fix that a tool "
                "can make is measured by `verify`, and its diff applied if it is faster.",
                table(
                    ["sample", "made", "not made", "compared at the end", "tokens read", "s"], rows
                ).strip(),
                f"Solved: {sum(work.solved for work in works)} of {len(works)}. "
                f"Tokens are counted as {CHARACTERS_PER_TOKEN} characters each.",
            ]
        )
        + "\n"
    )


def main(arguments: Sequence[str]) -> int:
    options = parser("agent", __doc__)
    options.add_argument("samples", nargs="*", default=SAMPLES)
    options.add_argument("--budget", type=int, default=BUDGET_S, help="seconds for each fix")
    options.add_argument("--write", action="store_true", help="write the page")
    given = options.parse_args(arguments)
    works = []
    for sample in given.samples:
        works.append(anyio.run(solve, sample, given.budget))
        print(
            json.dumps({**vars(works[-1]), "compared": works[-1].compared[:200]}), file=sys.stderr, flush=True
        )
        if given.write:
            PAGE.write_text(page_of(works), encoding="utf-8")
    print(page_of(works))
    return 0
