"""Traces of others that the product had never met: what was written of each, and what was said then."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import headlines
from benchmarks.first_contact.answers import version
from diagnose.report.blocks import unpadded_table

HERE = Path(__file__).parent
WRITTEN, SAID = HERE / "traces.toml", HERE / "traces.jsonl"


def kept() -> list[dict[str, Any]]:
    """All answers, oldest first."""
    lines = SAID.read_text(encoding="utf-8").splitlines() if SAID.is_file() else []
    return [json.loads(line) for line in lines]


def meet_traces(folder: Path) -> None:
    """Analyse the traces in the folder that no version has met, and keep what is said of each."""
    written = tomllib.loads(WRITTEN.read_text(encoding="utf-8"))
    met = {row["trace"] for row in kept()}
    for path in sorted(folder.iterdir()):
        name = path.name.split(".")[0]
        if name in met or name not in written:
            continue
        judged = headlines.Judged(name, written[name], headlines.answer_of(path))
        row = {
            "trace": name,
            "version": version(),
            "date": date.today().isoformat(),
            "headline": judged.answer.headline,
            "kinds": sorted(judged.answer.kinds),
            "right_kind": judged.right_kind,
            "right": judged.right,
        }
        with SAID.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"{name}: {'right' if judged.right else 'WRONG'}: {judged.answer.headline}", flush=True)


def traces_part() -> str:
    """Markdown: how many headlines were right at first contact, and which were not; empty if none was met."""
    rows, written = kept(), tomllib.loads(WRITTEN.read_text(encoding="utf-8"))
    if not rows:
        return ""
    right, kinds = sum(row["right"] for row in rows), sum(row["right_kind"] for row in rows)
    sure = [row for row in rows if written[row["trace"]]["sure"]]
    wrong = [
        (row["trace"], row["version"], written[row["trace"]]["says"], row["headline"])
        for row in rows
        if not row["right"]
    ]
    return "\n\n".join(
        [
            "## Traces that nobody had seen",
            f"{right} of {len(rows)} headlines were what somebody had written of the trace before; kind "
            f"{kinds}; of the {len(sure)} that a second engineer would not dispute "
            f"{sum(row['right'] for row in sure)}. The others:",
            unpadded_table(("trace", "version", "written", "said"), wrong),
        ]
    )
