"""What the product said of an entry, by version: rows that are only added to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.first_contact.entries import STAND_INS, Entry
from diagnose import __version__

SAID = Path(__file__).parent / "said.jsonl"
TIMEOUT_S = 300
LIBRARIES = "site-packages"
PLANNED = 6  # rows of the plan that are kept


def kept() -> list[dict[str, Any]]:
    """All answers, oldest first."""
    lines = SAID.read_text(encoding="utf-8").splitlines() if SAID.is_file() else []
    return [json.loads(line) for line in lines]


def meet(entry: Entry, scripts: Path | None, *, again: bool) -> str:
    """Run the entry once with today's version and keep what is said; a sentence about it."""
    today = version()
    if not again and any(row["entry"] == entry.name and row["version"] == today for row in kept()):
        return "met already by this version"
    try:
        row = asked(entry, scripts)
    except FileNotFoundError as missing:
        return str(missing)
    with SAID.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row | {"date": date.today().isoformat()}, ensure_ascii=False) + "\n")
    return str(row["headline"])


def asked(entry: Entry, scripts: Path | None) -> dict[str, Any]:
    """What today's version says of the entry; FileNotFoundError with advice where its script is missing."""
    source = entry.folder if not entry.source or scripts is None else scripts / entry.name
    if not (source / entry.cwd / entry.command[0]).is_file():
        raise FileNotFoundError(
            f"its script is not in {source}: fetch it ({entry.source}) and name the folder with --scripts"
        )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / entry.name
        shutil.copytree(source, folder)
        put_stand_ins(entry, folder)
        if source == entry.folder:
            _make_data(folder)
        return _answer(entry, folder) | {"version": version()}


def put_stand_ins(entry: Entry, script: Path) -> None:
    """What stands in for libraries that are not installed lies where libraries lie: it is not the script's
    own code. ``shims``: what the entry's author wrote for it alone, which counts before what is shared.
    """
    folder = script / LIBRARIES
    if (script / "shims").is_dir():
        (script / "shims").rename(folder)
    folder.mkdir(exist_ok=True)
    for name in entry.stand_ins:
        if (folder / name).exists() or (folder / f"{name}.py").exists():
            continue
        if (STAND_INS / name).is_dir():
            shutil.copytree(STAND_INS / name, folder / name)
        else:
            shutil.copy(STAND_INS / f"{name}.py", folder)


def _make_data(folder: Path) -> None:
    """By the entry's own `prepare.py`, where it has one; what is fetched lies there with its data."""
    if (folder / "prepare.py").is_file():
        paths = {"PYTHONPATH": f"{folder}:{folder / LIBRARIES}"}
        command = [sys.executable, "prepare.py"]
        subprocess.run(command, cwd=folder, env=os.environ | paths, capture_output=True, check=False)


def _answer(entry: Entry, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "diagnose", "--json", "--out", str(folder / "out"), *entry.command]
    paths = {"PYTHONPATH": f"{folder}:{folder / LIBRARIES}:{ROOT}"}
    try:
        ended = subprocess.run(
            command,
            cwd=folder / entry.cwd,
            env=os.environ | paths,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"entry": entry.name, "headline": f"not ended after {TIMEOUT_S} s", "plan": [], "names": []}
    report = folder / "out" / "report.json"
    if not report.is_file():
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        return {"entry": entry.name, "headline": f"no report: {' '.join(said[-2:])}", "plan": [], "names": []}
    document = json.loads(report.read_text(encoding="utf-8"))
    findings = {finding["rule"]: finding for finding in document["findings"]}
    return {
        "entry": entry.name,
        "headline": document["headline"],
        "badge": document["badge"],
        "step_ms": document["steps"]["typical_ms"],
        "plan": [_planned(row, findings[row["rule"]]) for row in document["plan"][:PLANNED]],
        "names": [
            {"row": account["row"], "name": one["name"].removeprefix("backward of "), "share": one["share"]}
            for account in document["account"]
            for one in account["spenders"][:3]
        ],
    }


def _planned(row: dict[str, Any], finding: dict[str, Any]) -> dict[str, Any]:
    lines = [f"{one['file']}:{one['line']}" for one in (*finding["culprits"], *finding["fix"]["call_sites"])]
    return {
        "rule": row["rule"],
        "lines": lines[:8],
        "severity": row["severity"],
        "share": row["share"],
        "predicted_ms": finding["saving"]["predicted_ms"],
        "at_most_ms": finding["saving"]["at_most_ms"],
        "confidence": finding["saving"]["confidence"],
    }


def version() -> str:
    """The version and the commit of the checkout."""
    told = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(told, capture_output=True, text=True, check=False).stdout.strip()
    return f"{__version__}+{commit}" if commit else __version__
