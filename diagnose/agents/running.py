"""A command of ours in a process of its own: told as it goes, ended when nobody waits for it any more."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.text import TextReceiveStream

MOST_KEPT = 2_000_000  # characters of stdout
LINES_KEPT = 20  # of stderr, for an error
GRACE_S = 30.0  # for the script's own end, and what is recorded to be written
_SAYS = "diagnose: "


@dataclass(frozen=True)
class Ended:
    """How a command ended; ``said``: the last lines on stderr."""

    code: int
    stdout: str
    said: str


async def run(words: Sequence[str], folder: Path, tell: Callable[[str], Awaitable[None]]) -> Ended:
    """`python -m diagnose` with these words in that folder, without a shell, and with nothing to read from
    stdin. ``tell`` gets each line of progress. Where the caller is cancelled the command is interrupted.
    """
    command = [sys.executable, "-m", "diagnose", *words]
    process = await anyio.open_process(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    stdout: list[str] = []
    said: deque[str] = deque(maxlen=LINES_KEPT)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process.stdout, stdout)
            tasks.start_soon(_listen, process.stderr, said, tell)
        code = await process.wait()
    finally:
        if process.returncode is None:
            with anyio.CancelScope(shield=True):
                await _end(process)
    return Ended(code, "".join(stdout), "\n".join(said))


async def _read(stream: ByteReceiveStream, kept: list[str]) -> None:
    length = 0
    async for text in TextReceiveStream(stream, errors="replace"):
        if length < MOST_KEPT:
            kept.append(text[: MOST_KEPT - length])
            length += len(kept[-1])


async def _listen(
    stream: ByteReceiveStream, said: deque[str], tell: Callable[[str], Awaitable[None]]
) -> None:
    rest = ""
    async for text in TextReceiveStream(stream, errors="replace"):
        *lines, rest = (rest + text[-MOST_KEPT:]).split("\n")
        for line in lines:
            said.append(line[:500])
            if line.startswith(_SAYS):
                await tell(line.removeprefix(_SAYS))
    said.append(rest[:500])


async def _end(process: Process) -> None:
    """As Ctrl-C would, which loses nothing recorded; then by force."""
    try:
        tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(signal.SIGINT)
    except (psutil.Error, ProcessLookupError):
        return
    with anyio.move_on_after(GRACE_S):
        await process.wait()
    for member in tree:
        try:
            member.kill()
        except psutil.Error:
            continue
    await process.wait()
