"""A browser for the tests of this folder:

Debian's Chromium, driven by playwright. Without either they are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

Visit = Callable[..., Any]

INSIDE = ("file", "data", "blob", "about")


@pytest.fixture(scope="package")  # of a session it would keep its event loop running under all other tests
def browser() -> Iterator[Any]:
    """One browser for all tests of the folder."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """`visit(url, width=1400, height=1000, scheme="light")` opens a page and returns playwright's `Page`.

    At the end of the test nothing may have been complained of in the console, and nothing may
    have been asked of any other origin.
    """
    contexts, complaints = [], []

    def visit(url: str, *, width: int = 1400, height: int = 1000, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))

        def guard(route: Any) -> None:
            asked = urlsplit(route.request.url)
            if asked.scheme in INSIDE or (asked.scheme, asked.netloc) == urlsplit(url)[:2]:
                route.continue_()
            else:
                complaints.append(f"asked for {route.request.url}")
                route.abort()

        page.route("**/*", guard)
        page.goto(url)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
