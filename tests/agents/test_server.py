"""The tools, asked by the SDK's own client over stdin and stdout."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ListRootsResult, Root

from diagnose.report.brief import MOST_CHARACTERS

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "sample_traces" / "healthy" / "train" / "rank0" / "timeline.pt.trace.json.gz"
SCRIPTS = ROOT / "tests" / "run" / "scripts"

pytestmark = pytest.mark.live
Asking = Callable[[Client], Awaitable[None]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(SCRIPTS / "plain.py", folder / "train.py")
    shutil.copy(TRACE, folder / "trace.json.gz")
    (folder / "fails.py").write_text("raise SystemExit('no data here')")
    return folder


def ask(project: Path, asking: Asking, **options: Any) -> None:
    """What is asked of a server that was started for that folder."""
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "diagnose", "mcp", str(project)], cwd=project.parent
    )

    async def asked() -> None:
        async with Client(parameters, **options) as client:
            await asking(client)

    anyio.run(asked)


async def answered(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


def test_a_trace_is_diagnosed_explained_and_compared(project: Path) -> None:
    async def asking(client: Client) -> None:
        told = await answered(client, "diagnose", target="trace.json.gz")
        assert told["headline"] and told["step_goes_to"]
        assert len(json.dumps(told)) < MOST_CHARACTERS
        run = told["run"]
        assert (project / run / "report.html").is_file()
        explained = await answered(client, "explain", run=run, what="input-wait-no-workers")
        assert explained["evidence"] or explained["abstains_for"]
        assert "neither a rule" in await refused(client, "explain", run=run, what="nonsense")
        then = await answered(client, "whatif", run=run, remove=["forward"])
        assert then["asked"][0]["name"] == "forward"
        page = await answered(client, "compare", before=run, after=run)
        assert "No change" in str(page)
        assert "input-wait-no-workers" in str(await answered(client, "rules", about="loader workers"))
        runs = await client.read_resource("diagnosis://runs")
        assert runs.contents[0].text == run  # type: ignore[union-attr]
        name = run.removeprefix("diagnosis/")
        brief = await client.read_resource(f"diagnosis://{name}/brief")
        assert told["headline"] in brief.contents[0].text  # type: ignore[union-attr]

    ask(project, asking)


def test_a_script_is_run_with_its_arguments_and_progress_is_told(project: Path) -> None:
    steps: list[str | None] = []

    async def heard(done: float, whole: float | None, what: str | None) -> None:
        steps.append(what)

    async def asking(client: Client) -> None:
        arguments = {"target": "train.py", "arguments": ["150"]}
        result = await client.call_tool("diagnose", arguments, progress_callback=heard)
        assert not result.is_error and result.structured_content is not None
        assert result.structured_content["target"] == "train.py"
        assert "ms a step" in result.structured_content["step"]

    ask(project, asking)
    assert any("warming up" in str(step) for step in steps)


def test_what_lies_outside_is_neither_read_nor_run(project: Path) -> None:
    outside = project.parent / "outside.py"
    outside.write_text(f"open({str(project.parent / 'ran')!r}, 'w')")

    async def asking(client: Client) -> None:
        for target in ("../outside.py", str(outside), "https://host/trace.json"):
            assert "outside" in await refused(client, "diagnose", target=target) or "URL" in target
        assert "not below" in await refused(client, "diagnose", target="os", module=True)
        for tool in ("explain", "whatif", "verify"):
            more = {"explain": {"what": "x"}, "whatif": {"workers": 2}}.get(tool, {})
            assert "outside" in await refused(client, tool, run="..", **more)
        assert "names of rules" in await refused(client, "verify", run=".", only=["--apply"])

    ask(project, asking)
    assert not (project.parent / "ran").exists()


@pytest.mark.long
def test_a_clients_roots_are_respected(project: Path) -> None:
    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///somewhere/else")])  # type: ignore[arg-type]

    async def asking(client: Client) -> None:
        assert "roots" in await refused(client, "diagnose", target="trace.json.gz")

    ask(project, asking, list_roots_callback=roots)


@pytest.mark.long
def test_a_script_that_fails_is_told_with_its_last_words(project: Path) -> None:
    async def asking(client: Client) -> None:
        result = await client.call_tool("diagnose", {"target": "fails.py"})
        assert "no data here" in str(result.content)

    ask(project, asking)


@pytest.mark.long
def test_a_call_that_is_cancelled_ends_the_script(project: Path) -> None:
    async def asking(client: Client) -> None:
        with anyio.move_on_after(6):
            await client.call_tool("diagnose", {"target": "train.py", "arguments": ["100000000"]})
        with anyio.fail_after(60):
            while any(str(project) in _folder(process) for process in psutil.process_iter()):
                await anyio.sleep(0.2)

    ask(project, asking)


def _folder(process: psutil.Process) -> str:
    """Where a script of ours runs; empty for all other processes."""
    try:
        return process.cwd() if "train.py" in process.cmdline() else ""
    except psutil.Error:
        return ""
