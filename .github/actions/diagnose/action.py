"""What the action does on a runner: run, compare with the baseline, tell it in the summary and a comment.

Everything comes in environment variables: GitHub's own, and those that action.yml sets.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(".diagnose")
REPORT, BASELINE, SARIF = FOLDER / "report", FOLDER / "baseline", FOLDER / "findings.sarif"
MARK = "<!-- diagnose -->"  # tells our comment from others
LONGEST = 60_000  # characters: GitHub takes 65,536
FINDINGS = 4  # exit code of --fail-on


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    shutil.rmtree(REPORT, ignore_errors=True)
    environment = os.environ
    fail_on = ["--fail-on", environment["FAIL_ON"]] if environment.get("FAIL_ON") else []
    code = diagnose("--out", str(REPORT), "--format", "github", *fail_on, *shlex.split(environment["RUN"]))
    if not (REPORT / "report.json").is_file():
        return code or 1
    SARIF.write_text(answer("--quiet", "--format", "sarif", str(REPORT)), encoding="utf-8")
    comparison, verdict = compared()
    page = "\n\n".join(filter(None, [MARK, comparison, (REPORT / "brief.md").read_text(encoding="utf-8")]))
    append("GITHUB_STEP_SUMMARY", page)
    if environment.get("COMMENT") == "true":
        comment(page[:LONGEST])
    keep = environment.get("GITHUB_REF_NAME") == environment.get("DEFAULT_BRANCH") and code in (0, FINDINGS)
    if keep:
        shutil.rmtree(BASELINE, ignore_errors=True)
        shutil.copytree(REPORT, BASELINE)
    report = json.loads((REPORT / "report.json").read_text(encoding="utf-8"))
    outputs = {
        "report": REPORT,
        "step-ms": report["steps"].get("typical_ms") or "",
        "verdict": verdict,
        "keep": str(keep).lower(),
    }
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))
    if verdict == "slower" and environment.get("FAIL_IF_SLOWER") == "true":
        print("::error title=diagnose::the step became slower than the baseline")
        return code or FINDINGS
    return code


def compared() -> tuple[str, str]:
    """What changed from the baseline on, as Markdown, and in a word; empty without a baseline."""
    if not (BASELINE / "report.json").is_file():
        return "", ""
    both = ("--quiet", "compare", str(BASELINE), str(REPORT))
    found = json.loads(answer(*both, "--format", "json") or "{}")
    return answer(*both, "--format", "markdown"), str(found.get("verdict") or "")


def diagnose(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "diagnose", *words]).returncode


def answer(*words: str) -> str:
    """What a command prints; empty where it fails, which its own error says."""
    command = [sys.executable, "-m", "diagnose", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout


def append(variable: str, text: str) -> None:
    """To the file that GitHub names in that variable."""
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else f"{text}\n")


# ---- the comment


def comment(page: str) -> None:
    """Write it into the pull request, over an earlier one; what GitHub refuses is a warning."""
    number = pull_request()
    if number is None:
        return
    comments = f"issues/{number}/comments"
    try:
        earlier = next((one for one in listed(comments) if MARK in (one.get("body") or "")), None)
        if earlier is None:
            api("POST", comments, {"body": page})
        else:
            api("PATCH", f"issues/comments/{earlier['id']}", {"body": page})
    except (urllib.error.URLError, OSError, ValueError) as error:
        print(f"::warning title=diagnose::the comment could not be written: {error}")


def pull_request() -> int | None:
    """Its number; None where the job is not about one."""
    try:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        return int(event["pull_request"]["number"])
    except (KeyError, TypeError, ValueError, OSError):
        return None


def listed(path: str) -> Sequence[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for page in range(1, 31):
        some = api("GET", f"{path}?per_page=100&page={page}")
        found += some
        if len(some) < 100:
            break
    return found


def api(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """GitHub's REST API on this repository (docs.github.com/rest/issues/comments)."""
    request = urllib.request.Request(
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ.get('GITHUB_TOKEN', '')}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as answered:
        return json.load(answered)


if __name__ == "__main__":
    sys.exit(main())
