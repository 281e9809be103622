"""The pictures in README.md and the docs, from the bundled recordings as a
browser shows them; the step is that of the trace which README.md quotes, where it is at hand.

    python -m benchmarks pictures

Needs Chromium (Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.options import parser
from benchmarks.samples import FOLDER
from diagnose.pipeline import report
from docs.readme import SHOWN

PICTURES = ROOT / "docs" / "pictures"
RUNS = {"sick": "input-wait/sick", "healthy": "input-wait/healthy"}  # name in the pictures → recording
WIDTH, HEIGHT = 1200, 900
STARTS_S = 60


def main(arguments: Sequence[str]) -> None:
    parser("pictures", __doc__).parse_args(arguments)
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs = Path(folder) / "diagnosis"
        for name, sample in RUNS.items():
            _copy_as_if_run_here(sample, Path(folder), runs / name)
            report(runs / name, runs / name)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
        )
        _photograph_report(page, runs / "sick")
        if SHOWN.is_file():
            report(SHOWN, Path(folder) / "quoted")
            _photograph_step(page, Path(folder) / "quoted")
        with tensorboard(runs) as address:
            _photograph_tab(page, address)
        browser.close()


def _copy_as_if_run_here(sample: str, folder: Path, run: Path) -> None:
    """The recording and its script, so that the commands in the report are those of a user."""
    shutil.copytree(FOLDER / sample, run)
    shutil.copy((FOLDER / sample).with_suffix(".py"), folder)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**record, "cwd": str(folder)}), encoding="utf-8")


def _photograph_report(page: Any, run: Path) -> None:
    page.goto((run / "report.html").as_uri())
    page.wait_for_selector("canvas")
    page.screenshot(path=PICTURES / "report.png")


def _photograph_step(page: Any, run: Path) -> None:
    page.goto((run / "report.html").as_uri())
    page.wait_for_selector("canvas")
    top = page.locator(".tools").first.bounding_box()
    findings = page.get_by_role("heading", name="Findings").first.bounding_box()
    legends = [legend.bounding_box() for legend in page.locator(".legend").all()]
    end = max((box for box in legends if box["y"] < findings["y"]), key=lambda box: box["y"])
    clip = {**top, "height": end["y"] + end["height"] - top["y"]}
    page.screenshot(path=PICTURES / "step.png", full_page=True, clip=clip)


def _photograph_tab(page: Any, address: str) -> None:
    page.goto(f"{address}/#diagnose")
    tab = page.frame_locator("iframe")
    tab.get_by_role("radio", name="sick").check()
    tab.locator("h1").wait_for()
    tab.locator("canvas").first.wait_for()
    page.screenshot(path=PICTURES / "tensorboard.png")


@contextmanager
def tensorboard(logdir: Path) -> Iterator[str]:
    """The address at which a TensorBoard answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        str(logdir),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/data/environment", server)
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(STARTS_S * 5):
        if server.poll() is not None:
            sys.exit("TensorBoard ended")
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit("TensorBoard does not answer")
