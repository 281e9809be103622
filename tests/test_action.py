"""The GitHub Action: its steps fit together, and what it runs on a runner is run here, against an API of ours."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from diagnose.compare.model import Verdict

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "diagnose"
SCRIPT = ROOT / "tests" / "run" / "scripts" / "plain.py"


class GitHub(http.server.ThreadingHTTPServer):
    """The comments of pull request 7 of the repository me/job; another person's is there already."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Api)
        self.comments: dict[int, str] = {1: "Nice."}
        self.tokens: set[str | None] = set()


class _Api(http.server.BaseHTTPRequestHandler):
    server: GitHub

    def _answer(self, status: int, answer: Any) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def _body(self) -> str:
        self.server.tokens.add(self.headers["Authorization"])
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def do_GET(self) -> None:
        assert self.path.startswith("/repos/me/job/issues/7/comments?")
        self._answer(200, [{"id": number, "body": body} for number, body in self.server.comments.items()])

    def do_POST(self) -> None:
        assert self.path == "/repos/me/job/issues/7/comments"
        self.server.comments[1 + max(self.server.comments)] = self._body()
        self._answer(201, {})

    def do_PATCH(self) -> None:
        number = int(self.path.removeprefix("/repos/me/job/issues/comments/"))
        self.server.comments[number] = self._body()
        self._answer(200, {})

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    shutil.copy(SCRIPT, tmp_path / "train.py")
    return tmp_path


def act(
    workspace: Path, github: GitHub, event: dict[str, Any], **variables: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], str]:
    """The action's own step: how it ended, its outputs, the job's summary."""
    files = {name: workspace / name for name in ("event.json", "output", "summary")}
    files["event.json"].write_text(json.dumps(event))
    for name in ("output", "summary"):
        files[name].unlink(missing_ok=True)
    environment = {
        **os.environ,
        "RUN": "--steps 2 train.py 60",
        "COMMENT": "true",
        "DEFAULT_BRANCH": "main",
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_EVENT_PATH": str(files["event.json"]),
        "GITHUB_OUTPUT": str(files["output"]),
        "GITHUB_REF_NAME": "7/merge" if event else "main",
        "GITHUB_REPOSITORY": "me/job",
        "GITHUB_STEP_SUMMARY": str(files["summary"]),
        "GITHUB_TOKEN": "secret",
        **variables,
    }
    ran = subprocess.run(
        [sys.executable, str(ACTION / "action.py")],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    output = files["output"].read_text() if files["output"].exists() else ""
    outputs = dict(line.split("=", 1) for line in output.splitlines())
    return ran, outputs, files["summary"].read_text() if files["summary"].exists() else ""


@pytest.mark.long
@pytest.mark.live
def test_a_baseline_is_kept_and_a_pull_request_gets_one_comment(workspace: Path, github: GitHub) -> None:
    ran, outputs, summary = act(workspace, github, {})
    assert ran.returncode == 0, ran.stderr
    assert (outputs["report"], outputs["keep"], outputs["verdict"]) == (".diagnose/report", "true", "")
    assert float(outputs["step-ms"]) > 0 and "# " in summary
    assert github.comments == {1: "Nice."}
    assert json.loads((workspace / ".diagnose" / "findings.sarif").read_text())["version"] == "2.1.0"

    pull_request = {"pull_request": {"number": 7}}
    for _ in range(2):  # a second push to it
        ran, outputs, summary = act(workspace, github, pull_request)
        assert ran.returncode == 0, ran.stderr
        assert outputs["keep"] == "false" and outputs["verdict"] in get_args(Verdict)
    assert list(github.comments) == [1, 2] and github.comments[1] == "Nice."
    assert github.comments[2].strip() == summary.strip()
    assert github.tokens == {"Bearer secret"}


@pytest.mark.live
def test_a_script_that_fails_fails_the_job_with_its_own_error(workspace: Path, github: GitHub) -> None:
    (workspace / "train.py").write_text("raise SystemExit('no data here')")
    ran, outputs, _ = act(workspace, github, {"pull_request": {"number": 7}})
    assert ran.returncode != 0 and "no data here" in ran.stderr
    assert outputs.get("keep", "false") == "false"


def test_a_comment_that_github_refuses_is_a_warning(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import sys; sys.path.insert(0, {str(ACTION)!r}); import action; action.comment('text')"
    event = Path(os.environ.get("TMPDIR", "/tmp")) / f"event-{os.getpid()}.json"
    event.write_text('{"pull_request": {"number": 7}}')
    try:
        ran = subprocess.run(
            [sys.executable, "-B", "-c", code],
            env={
                **os.environ,
                "GITHUB_API_URL": "http://127.0.0.1:9",
                "GITHUB_REPOSITORY": "me/job",
                "GITHUB_EVENT_PATH": str(event),
            },
            capture_output=True,
            text=True,
        )
    finally:
        event.unlink()
    assert ran.returncode == 0 and "::warning title=diagnose::the comment could not be written" in ran.stdout


def test_the_steps_fit_together() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    text = (ACTION / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
    steps = action["runs"]["steps"]
    (main,) = (step for step in steps if step.get("id") == "run")
    code = (ACTION / "action.py").read_text()
    # what people type is never a part of a command: it comes in variables
    assert not any("${{" in step.get("run", "") for step in steps)
    asked = set(re.findall(r'environ(?:ment)?(?:\.get\(|\[)"(\w+)"', code))
    assert {name for name in asked if not name.startswith("GITHUB_")} <= set(main["env"])
    told = set(re.findall(r'^        "([\w-]+)": ', code, re.M))
    assert set(re.findall(r"steps\.run\.outputs\.([\w-]+)", text)) <= told
    assert all("shell" in step for step in steps if "run" in step)
