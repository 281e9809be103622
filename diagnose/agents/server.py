"""The MCP server: our commands as tools, reports as resources.

Source: https://modelcontextprotocol.io. What tools are for and what not to claim is told to agents in
docs/agents.md; the descriptions here are what they read first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, ListRoots, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ListRootsResult
from pydantic import Field

from diagnose import __version__
from diagnose.agents import answers
from diagnose.agents.roots import Outside, Roots
from diagnose.agents.running import Ended, run
from diagnose.errors import DiagnoseError
from diagnose.report.brief import JSON_FILE, MARKDOWN_FILE
from diagnose.run.record import numbered

RUNS = "diagnosis"
MOST_ANSWERED = 6_000  # characters of a page
LONGEST_S, USUAL_S = 3_600.0, 600.0
_NEWEST_SHOWN = 20
_INSTRUCTIONS = """\
diagnose finds what slows a PyTorch script, at which line, and what fixing it gains.
Order of work: `diagnose` a script or a trace; make the first fix of `fixes` in the file (its `change` is a \
diff where a tool could make one); `verify` measures those of `verify_can_try` without touching files; \
`diagnose` again, then `compare` the two runs.
`predicted_ms` is predicted by replay, `measured_ms` is measured: call a gain measured only if `verify` or \
`compare` says so. Savings of several fixes do not add up. An empty `fixes` with a `look` means that no rule \
knows a fix, not that all is well.
"""

Run = Annotated[str, Field(description="A run's folder, as `diagnose` answered it in `run`.")]


async def _client_roots(context: Context) -> ListRoots | ListRootsResult:
    """The client's own roots, if it has any."""
    capable = context.client_capabilities
    return ListRoots() if capable and capable.roots else ListRootsResult(roots=[])


ClientRoots = Annotated[ListRootsResult, Resolve(_client_roots)]


def server(folders: Sequence[Path]) -> MCPServer[Any]:
    """For files in these folders; relative paths start from the first."""
    made: MCPServer[Any] = MCPServer(
        "diagnose", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )

    def inside(roots: ListRootsResult) -> Roots:
        return Roots(folders, [str(root.uri) for root in roots.roots])

    async def answer(words: Sequence[str], home: Path, context: Context) -> Ended:
        count = 0

        async def tell(what: str) -> None:
            nonlocal count
            count += 1
            await context.report_progress(count, None, what)

        return await run(words, home, tell)

    @made.tool()
    async def diagnose(
        target: Annotated[str, Field(description="A script, or a trace that torch.profiler recorded.")],
        context: Context,
        roots: ClientRoots,
        arguments: Annotated[list[str], Field(description="The script's own arguments.")] = [],  # noqa: B006
        module: Annotated[bool, Field(description="TARGET is a module, run as python -m would.")] = False,
        timeout_s: Annotated[float, Field(description="End the script after this time.", gt=0)] = USUAL_S,
    ) -> dict[str, Any]:
        """Run a PyTorch script for some steps under the profiler, or read a trace: what slows it, at which
        lines, and what each fix is predicted to gain. The script really runs, and writes what it writes.
        """
        allowed = inside(roots)
        try:
            if module:
                allowed.module(target)
            else:
                target = allowed.typed(target)
            home = allowed.home
        except Outside as error:
            raise ToolError(str(error)) from error
        out = next(
            folder for folder in numbered(home / RUNS / time.strftime("%Y%m%d-%H%M%S")) if not folder.exists()
        )
        is_script = module or target.endswith(".py")
        words = ["--out", str(out)]
        if is_script:
            words += ["--timeout", str(min(timeout_s, LONGEST_S)), *(["-m"] if module else [])]
        ended = await answer([*words, target, *(arguments if is_script else [])], home, context)
        if not (out / JSON_FILE).is_file():
            raise ToolError(f"nothing was recorded (exit code {ended.code}):\n{ended.said}")
        told = answers.brief_of(answers.document_in(out), str(out.relative_to(home)))
        return told if ended.code == 0 else told | {"exit_code": ended.code, "said": ended.said}

    @made.tool()
    async def explain(
        run: Run,
        what: Annotated[str, Field(description="A rule of the run, or a line: train.py:41.")],
        roots: ClientRoots,
    ) -> dict[str, Any]:
        """The evidence of a finding (measured values, thresholds and why), how to fix it and when it is fine;
        or all that is known of a line.
        """
        try:
            return answers.explained(answers.document_in(inside(roots).existing(run)), what)
        except (Outside, DiagnoseError) as error:
            raise ToolError(str(error)) from error

    @made.tool()
    async def whatif(
        run: Annotated[str, Field(description="A run's folder, or a trace.")],
        context: Context,
        roots: ClientRoots,
        remove: Annotated[
            list[str],
            Field(description="Rules whose fix is made, rows of the step, or selectors whose time goes."),
        ] = [],  # noqa: B006
        workers: Annotated[int, Field(description="Worker processes that load batches; 0: as now.")] = 0,
    ) -> dict[str, Any]:
        """Predict how long a step takes with changes made, by replaying the recorded steps."""
        changes = [
            *(["--remove", *remove] if remove else []),
            *(["--workers", str(workers)] if workers else []),
        ]
        if not changes or any(name.startswith("-") for name in remove):
            raise ToolError("name what is to be removed, or a number of workers")
        return await _told_as_json(["whatif", "--json", "--quiet"], run, changes, context, roots)

    async def _told_as_json(
        words: Sequence[str], run: str, more: Sequence[str], context: Context, roots: ListRootsResult
    ) -> dict[str, Any]:
        import msgspec

        try:
            allowed = inside(roots)
            ended = await answer([*words, allowed.typed(run), *more], allowed.home, context)
        except Outside as error:
            raise ToolError(str(error)) from error
        if ended.code:
            raise ToolError(ended.said)
        return dict(msgspec.json.decode(ended.stdout))

    @made.tool()
    async def verify(
        run: Run,
        context: Context,
        roots: ClientRoots,
        only: Annotated[list[str], Field(description="Rules; all that can be tried if empty.")] = [],  # noqa: B006
        budget_s: Annotated[float, Field(description="Time for all of it.", gt=0)] = USUAL_S,
        allow_numerics: Annotated[
            bool, Field(description="Also try fixes that change the last digits of results.")
        ] = False,
    ) -> dict[str, Any]:
        """Measure what fixes gain: the script runs again and again in fresh processes, with and without each
        fix made inside the process. No file of the script is changed. Calling it again goes on.
        """
        if any(name.startswith("-") for name in only):
            raise ToolError("`only` takes names of rules")
        try:
            allowed = inside(roots)
            folder = allowed.existing(run)
        except Outside as error:
            raise ToolError(str(error)) from error
        words = ["verify", str(folder), "--budget", f"{min(budget_s, LONGEST_S):.0f}s"]
        words += [*(["--allow", "numerics"] if allow_numerics else []), *(["--only", *only] if only else [])]
        ended = await answer(words, allowed.home, context)
        if ended.code:
            raise ToolError(ended.said)
        return answers.brief_of(answers.document_in(folder), run)

    @made.tool()
    async def compare(
        before: Run, after: Run, context: Context, roots: ClientRoots
    ) -> Annotated[str, Field(description="Markdown")]:
        """What changed between two runs: the step, its parts, findings, lines; and what may be noise."""
        try:
            allowed = inside(roots)
            both = [allowed.typed(before), allowed.typed(after)]
        except Outside as error:
            raise ToolError(str(error)) from error
        ended = await answer(["compare", *both, "--format", "markdown", "--quiet"], allowed.home, context)
        if ended.code:
            raise ToolError(ended.said)
        return ended.stdout[:MOST_ANSWERED]

    @made.tool()
    def rules(
        about: Annotated[
            str, Field(description="Words that a rule has to be about; all rules if empty.")
        ] = "",
    ) -> str:
        """The rules that are looked for, a line each."""
        return "\n".join(answers.rules_about(about)) or "no rule is about that"

    @made.resource(f"{RUNS}://runs", mime_type="text/plain")
    def runs() -> str:
        """The newest runs below ./diagnosis, newest first."""
        home = Roots(folders).home
        found = sorted((path.parent for path in (home / RUNS).glob(f"*/{JSON_FILE}")), reverse=True)
        return "\n".join(str(path.relative_to(home)) for path in found[:_NEWEST_SHOWN])

    @made.resource(f"{RUNS}://{{name}}/brief", mime_type="text/markdown")
    def report_in_brief(name: str) -> str:
        """What a run below ./diagnosis found, in brief."""
        return Roots(folders).existing(f"{RUNS}/{name}/{MARKDOWN_FILE}").read_text(encoding="utf-8")

    @made.resource(f"{RUNS}://{{name}}/report", mime_type="text/markdown")
    def report(name: str) -> str:
        """All that a run below ./diagnosis found."""
        return Roots(folders).existing(f"{RUNS}/{name}/report.md").read_text(encoding="utf-8")

    return made
