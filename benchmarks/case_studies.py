"""Case studies of real models: an ordinary script with ordinary mistakes, what the report
says of it, and what doing that gains.

    python -m benchmarks case-studies --out FOLDER [--budget 400s] [study …]

``stories/<name>/before.py`` has the mistakes that mistakes.toml lists, ``after.py`` is the same job without
them, made by hand. Four tasks each: before.py is recorded; its plan is verified, and what proves faster
written into a copy of the script (`verify --allow numerics
--apply`); that copy and after.py are held against before.py, run in turns; and after.py is recorded. The
study told of them holds nothing but what these runs left.
"""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import paired, tasks
from benchmarks.options import parser
from benchmarks.samples import FOLDER
from benchmarks.tables import table
from benchmarks.tasks import ALL_DONE, SOME_FAILED, diagnosed
from diagnose.document.model import FixResult
from diagnose.document.text import ms, share, signed_span
from diagnose.report.verification import verdict
from diagnose.verify.paired import RunFailed

CASE_STUDIES = FOLDER / "stories"
RECORDING_S, VERIFY_S, COMPARISON_S = 600.0, 400.0, 90.0


@dataclass(frozen=True)
class Mistake:
    """``rules``: any of them names it.

    ``line``: the text of the line where it is seen, empty where no one line is to blame.
    """

    what: str
    rules: tuple[str, ...]
    line: str = ""
    needs: str = ""


@dataclass(frozen=True)
class CaseStudy:
    """``also``: rules that are true of before.py as well."""

    name: str
    mistakes: tuple[Mistake, ...]
    also: tuple[str, ...]

    def script(self, name: str) -> Path:
        return CASE_STUDIES / self.name / f"{name}.py"

    def line_number(self, line: str) -> int:
        """In before.py. Raises ValueError unless it is there once."""
        lines = [line.strip() for line in self.script("before").read_text(encoding="utf-8").splitlines()]
        if lines.count(line) != 1:
            raise ValueError(f"{self.script('before')} has {lines.count(line)} lines {line!r}, not 1")
        return lines.index(line) + 1


def all_case_studies() -> list[CaseStudy]:
    return [_read(file) for file in sorted(CASE_STUDIES.glob("*/mistakes.toml"))]


def _read(file: Path) -> CaseStudy:
    known = tomllib.loads(file.read_text(encoding="utf-8"))
    mistakes = (
        Mistake(one["what"], tuple(one["rules"]), one.get("line", ""), one.get("needs", ""))
        for one in known["mistake"]
    )
    return CaseStudy(file.parent.name, tuple(mistakes), tuple(known["also"]))


# ---- the runs. FOLDER/<study>/ holds what is told of; FOLDER/<study>/work/ the copies
# of the script and their run folders


def recorded(study: CaseStudy, part: str, out: Path, seconds: float = RECORDING_S) -> str:
    """Record "before" or "after", and keep the recording and what is said of it.

    Raises RuntimeError if it fails.
    """
    folder = _work(study, part, out)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(study.script(part), folder)
    tasks.recorded("--out", "run", f"{part}.py", cwd=folder, seconds=seconds, judged=True)
    _keep_recording(study, part, out)
    _keep_reports(study, part, out)
    document = json.loads((folder / "run" / "report.json").read_text(encoding="utf-8"))
    return f"{ms(document['steps']['plain_ms']['median'])} a step; {len(document['plan'])} fixes in the plan"


def verified(study: CaseStudy, out: Path, seconds: float = RECORDING_S, budget_s: float = VERIFY_S) -> str:
    """Verify the plan of before.py, recorded first if its run folder is not here, and
    write what proves faster into the copy.
    """
    folder = _work(study, "before", out)
    if not (folder / "run" / "report.json").is_file() or _was_elsewhere(folder):
        recorded(study, "before", out)
    shutil.copy(study.script("before"), folder / "before.py")  # an interrupted call may have changed it
    options = [
        "--quiet",
        "--allow",
        "numerics",
        "--precision",
        str(paired.PRECISION),
        "--budget",
        f"{budget_s:.0f}s",
        "--apply",
    ]
    said = diagnosed("verify", "run", *options, cwd=folder, seconds=seconds)
    told = _told(study, out)
    shutil.copy(folder / "before.py", told / "applied.py")
    _keep_reports(study, "before", out)
    for name in ("verify.json", "fixes.diff"):
        if (folder / "run" / name).is_file():
            shutil.copy(folder / "run" / name, told / name)
    (told / "applied.txt").write_text(said.stderr, encoding="utf-8")
    tried = _tried(study, out)
    unmeasured = sum(one["state"] == "no_time" for one in tried)
    return (
        f"{len(tried)} fixes, {sum(one['verdict'] == 'faster' for one in tried)} faster, {unmeasured} for "
        "which there was no time"
    )


def held(study: CaseStudy, out: Path, budget_s: float = COMPARISON_S) -> str:
    """What `verify --apply` wrote, and after.py, against before.py."""
    document = _document(study, "before", out)
    if document is None:
        raise RuntimeError("before.py was not recorded")
    step_ms = document["steps"]["plain_ms"]["median"]
    changed = {"after": study.script("after")}
    if _was_changed(study, out):
        changed["applied"] = _told(study, out) / "applied.py"
    results = {}
    for name, script in changed.items():
        results[name] = paired.compare_arms(
            study.script("before"), script.resolve(), step_ms, _work(study, "compared", out) / name, budget_s
        )
    (_told(study, out) / "duels.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return "; ".join(f"{name}: {paired.in_words(result)}" for name, result in results.items())


def _was_changed(study: CaseStudy, out: Path) -> bool:
    applied = _told(study, out) / "applied.py"
    return applied.is_file() and applied.read_bytes() != study.script("before").read_bytes()


def _keep_recording(study: CaseStudy, part: str, out: Path) -> None:
    """`python -m diagnose` makes all reports of it again, anywhere."""
    run, kept = _work(study, part, out) / "run", _told(study, out) / part
    shutil.rmtree(kept, ignore_errors=True)
    for source in [*run.glob("rank*/*"), run / "run.json"]:
        (kept / source.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, kept / source.relative_to(run))


def _keep_reports(study: CaseStudy, part: str, out: Path) -> None:
    """Those that were written: without a verification it is report.json."""
    for name in ("report.json", "report.md", "report.html"):
        if (_work(study, part, out) / "run" / name).is_file():
            shutil.copy(_work(study, part, out) / "run" / name, _told(study, out) / f"{part}.{name}")


def _was_elsewhere(folder: Path) -> bool:
    """The folder was brought here from where it was recorded: the script would not be found."""
    return (
        Path(json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))["cwd"]) != folder.resolve()
    )


def _told(study: CaseStudy, out: Path) -> Path:
    return out / study.name


def _work(study: CaseStudy, part: str, out: Path) -> Path:
    return (_told(study, out) / "work" / part).resolve()


def _document(study: CaseStudy, part: str, out: Path) -> dict[str, Any] | None:
    file = _told(study, out) / f"{part}.report.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _tried(study: CaseStudy, out: Path) -> list[dict[str, Any]]:
    file = _told(study, out) / "verify.json"
    return json.loads(file.read_text(encoding="utf-8"))["tried"] if file.is_file() else []


# ---- the study


def told(study: CaseStudy, out: Path) -> str:
    """The study in Markdown, below a heading of the second level; what was not
    run yet is left out, and said to be.
    """
    before = _document(study, "before", out)
    if before is None:
        return f"## {study.name}\n\nNot recorded yet."
    parts = [
        f"## {study.name}",
        _about(study, before),
        f"What the report says of `before.py`: **{before['headline']}**",
        _plan(before),
        "Its mistakes, and what the report makes of each:",
        table(("mistake", "where", "in the report"), list(_mistakes(study, before))),
        _unplanted(study, before),
        "What making the fixes gives, each script run in turns with `before.py`:",
        table(("script", "step of `before.py`", "its step", "change"), list(_changes(study, out))),
        _predicted(study, out, before),
    ]
    return "\n\n".join(part.strip() for part in parts if part)


def _about(study: CaseStudy, before: dict[str, Any]) -> str:
    first = study.script("before").read_text(encoding="utf-8").partition("\n")[0].strip('"')
    environment = before["run"]["environment"]
    return (
        f"{first} (torch {environment.get('torch')}, {environment.get('gpu') or 'no GPU'}, "
        f"{environment.get('cores')} cores)"
    )


def _plan(before: dict[str, Any]) -> str:
    """Each row of the plan with what it was predicted and measured to gain."""
    findings = {finding["rule"]: finding for finding in before["findings"]}
    rows = []
    for number, row in enumerate(before["plan"], 1):
        saving = findings[row["rule"]]["saving"]
        rows.append(
            (
                number,
                row["fix"],
                f"`{row['where']}`",
                _span(saving["predicted_ms"]),
                *_measured(saving, before, row["rule"]),
            )
        )
    if not rows:
        return "The plan is empty."
    return table(("", "fix", "where", "predicted saving", "measured saving", "verified"), rows)


def _measured(saving: dict[str, Any], before: dict[str, Any], rule: str) -> tuple[str, str]:
    tried = next(
        (one for one in (before["verification"] or {}).get("tried", ()) if one["rule"] == rule), None
    )
    return _span(saving["measured_ms"]), verdict(msgspec.convert(tried, FixResult)) if tried else "by hand"


def _span(saving: dict[str, Any] | None) -> str:
    return signed_span(saving["low"], saving["high"]) if saving else "–"


def _mistakes(study: CaseStudy, before: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A row each; those that need a GPU only where there was one."""
    places = {row["rule"]: (number, row["where"]) for number, row in enumerate(before["plan"], 1)}
    for mistake in study.mistakes:
        where = f"before.py:{study.line_number(mistake.line)}" if mistake.line else ""
        named = [rule for rule in mistake.rules if rule in places]
        if named:
            number, said = places[named[0]]
            words = f"`{named[0]}`, number {number} of the plan" + (
                "" if not where or said == where else f", at `{said}`"
            )
        else:
            words = _not_planned(mistake, before)
        yield mistake.what, f"`{where}`" if where else "", words


def _not_planned(mistake: Mistake, before: dict[str, Any]) -> str:
    """Why a mistake is not in the plan, by the state of the rules that would name it."""
    if mistake.needs == "gpu" and before["run"]["device"] == "cpu":
        return "costs nothing without a GPU"
    found = [finding for finding in before["findings"] if finding["rule"] in mistake.rules]
    words = {"quiet": "its conditions are not met", "abstains": "abstains", "error": "**the rule failed**"}
    groups = {
        "minor": "seen, below the noise",
        "hypothetical": "would matter on a GPU",
        "information": "as information",
    }
    said = [
        f"`{one['rule']}`: {_group(one, groups) if one['state'] == 'fires' else words[one['state']]}"
        for one in found
    ]
    return "not in the plan; " + ", ".join(said)


def _group(finding: dict[str, Any], groups: dict[str, str]) -> str:
    if finding["because_of"]:
        return f"explained by `{finding['because_of']}`"
    verified = finding["saving"]["verdict"]
    return (
        f"measured: {verified.replace('_', ' ')}"
        if verified
        else groups.get(finding["group"], finding["group"])
    )


def _unplanted(study: CaseStudy, before: dict[str, Any]) -> str:
    known = {rule for mistake in study.mistakes for rule in mistake.rules} | set(study.also)
    others = [f"`{row['rule']}`" for row in before["plan"] if row["rule"] not in known]
    return f"In the plan and not known to be true of the script: {', '.join(others)}." if others else ""


def _changes(study: CaseStudy, out: Path) -> Iterator[tuple[str, ...]]:
    results = _comparisons(study, out)
    words = {"applied": "with what `verify --apply` wrote", "after": "`after.py`, made by hand"}
    for name, title in words.items():
        one = results.get(name)
        if one:
            steps = [ms(one[key]) if key in one else "–" for key in ("before_ms", "after_ms")]
            yield title, *steps, paired.in_words(one)
        elif (
            name == "applied"
            and (_told(study, out) / "applied.py").is_file()
            and not _was_changed(study, out)
        ):
            yield title, "–", "–", "nothing was written: no fix that it can write proved faster"
        else:
            yield title, "–", "–", "not run yet"


def _comparisons(study: CaseStudy, out: Path) -> dict[str, Any]:
    file = _told(study, out) / "duels.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _predicted(study: CaseStudy, out: Path, before: dict[str, Any]) -> str:
    """The plan's own prediction against after.py, as shares: the runs were not made at the same time."""
    after = _comparisons(study, out).get("after", {})
    if not before["plan"] or "change" not in after or before["plan"][-1]["step_ms_after"] is None:
        return ""
    foretold = before["plan"][-1]["step_ms_after"] / before["steps"]["typical_ms"]
    return (
        f"With the whole plan made, the report predicts {share(foretold)} of this step; `after.py`, which "
        f"also mends what the plan does not name, takes {share(1 + after['change'])}."
    )


def numbers(study: CaseStudy, out: Path) -> dict[str, Any]:
    """The same for programs: the plan of before.py, what was tried, and the changes to the scripts."""
    before = _document(study, "before", out)
    return {
        "study": study.name,
        "plan": before["plan"] if before else None,
        "tried": _tried(study, out),
        "duels": _comparisons(study, out),
    }


def main(arguments: Sequence[str]) -> int:
    from diagnose.commands.verify import duration

    options = parser("case-studies", __doc__)
    options.add_argument("names", nargs="*", metavar="study", help="only these")
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument(
        "--budget", type=duration, default=VERIFY_S, metavar="TIME", help="for verifying each (default 400s)"
    )
    given = options.parse_args(arguments)
    failed = False
    for study in [
        study_of_all
        for study_of_all in all_case_studies()
        if study_of_all.name in given.names or not given.names
    ]:
        try:
            recorded(study, "before", given.out)
            verified(study, given.out, budget_s=given.budget)
            held(study, given.out, given.budget)
            recorded(study, "after", given.out)
        except (RuntimeError, RunFailed) as error:
            print(f"{study.name}: {error}", file=sys.stderr)
            failed = True
        print(told(study, given.out), end="\n\n")
    return SOME_FAILED if failed else ALL_DONE
