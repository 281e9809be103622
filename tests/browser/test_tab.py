"""TensorBoard itself, in a browser: the Diagnose tab, and what of ours its own tabs show."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pictures import tensorboard
from diagnose.pipeline import report

SAMPLES = Path(__file__).parents[2] / "sample_traces"
HOSTILE = 'damaged <img src=x> "`'
START_S = 60  # that TensorBoard may take, on a machine that is busy
ITS_OWN = "/index.js"  # TensorBoard's own script; what that one warns of is not ours to mend


def _copied(sample: str, to: Path, started_at: str) -> None:
    shutil.copytree(SAMPLES / sample, to)
    run = json.loads((to / "run.json").read_text())
    (to / "run.json").write_text(json.dumps(run | {"started_at": started_at}))
    report(to, to)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The latest run is `sick`."""
    folder = tmp_path_factory.mktemp("logs")
    _copied("input-wait/sick", folder / "sick", "2026-11-21T09:00:00+00:00")
    _copied("input-wait/healthy", folder / "cured", "2026-11-21T08:00:00+00:00")
    _copied("row-loop/sick", folder / "other", "2026-11-21T07:00:00+00:00")
    damaged = folder / HOSTILE
    damaged.mkdir()
    (damaged / "report.json").write_text("{")
    (damaged / "report.md").touch()
    os.utime(damaged / "report.json", (1, 1))
    return folder


@pytest.fixture(scope="module")
def address(logdir: Path) -> Iterator[str]:
    """Where a TensorBoard answers."""
    with tensorboard(logdir) as answering:
        yield answering


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens a page of TensorBoard; at the end nothing of ours may have warned or failed,
    and nothing may have left the machine.
    """
    contexts, said, asked = [], [], []

    def open_page(hash: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 1100}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(START_S * 1000)
        page.on("console", lambda message: said.append((message.type, message.text, message.location["url"])))
        page.on("pageerror", lambda error: said.append(("error", str(error), "")))
        context.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/#{hash}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [one for one in said if not one[2].startswith(address + ITS_OWN)] == []
    assert [url for url in asked if not url.startswith((f"{address}/", "data:", "blob:"))] == []


def tab_of(page: Any) -> Any:
    """The tab's frame, with a report or a comparison in it."""
    tab = page.frame_locator("iframe")
    tab.locator("#dg-main, .tab-comparison section").first.wait_for()
    return tab


def test_the_newest_run_is_shown_and_all_are_listed(opened: Callable[..., Any]) -> None:
    tab = tab_of(opened("diagnose"))
    names = tab.locator("tbody label").all_inner_texts()
    assert names[:3] == ["sick", "cured", "other"]
    assert tab.locator("input[name=run]:checked").get_attribute("value") == "sick"
    assert "Loading without workers takes" in tab.locator("h1").inner_text()
    assert "Input wait" in tab.locator(".ledger").first.inner_text()


def test_the_timeline_is_drawn(opened: Callable[..., Any]) -> None:
    canvas = tab_of(opened("diagnose")).locator("canvas").first
    canvas.scroll_into_view_if_needed()
    colours = """canvas => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    }"""
    for _ in range(50):
        if canvas.evaluate(colours) > 5:
            return
        time.sleep(0.2)
    raise AssertionError("the canvas is empty")


@pytest.mark.long
def test_arrow_keys_choose_another_run_and_the_address_remembers_it(opened: Callable[..., Any]) -> None:
    page = opened("diagnose")
    tab = tab_of(page)
    tab.locator("input[name=run]:checked").focus()
    page.keyboard.press("ArrowDown")
    tab.locator("h1", has_text="small parts").wait_for()
    assert page.url.endswith("#diagnose&p.diagnose.run=cured")
    page.reload()
    tab = tab_of(page)
    assert tab.locator("input[name=run]:checked").get_attribute("value") == "cured"


@pytest.mark.long
def test_two_runs_are_compared_side_by_side(opened: Callable[..., Any]) -> None:
    page = opened("diagnose&p.diagnose.run=cured")
    tab_of(page).get_by_label("Compare with").select_option(label="sick")
    page.wait_for_url("**/#diagnose&p.diagnose.run=cured&p.diagnose.against=sick")
    page.reload()
    tab = tab_of(page)
    table = tab.locator(".tab-comparison table").first
    table.wait_for()
    assert {"A", "B"} <= set(table.locator("thead th").all_inner_texts())
    assert "faster" in tab.locator(".tab-comparison .verdict").inner_text()
    tab.get_by_label("Compare with").select_option(index=0)
    tab.locator("h1").wait_for()


@pytest.mark.long
def test_the_trace_can_be_downloaded(opened: Callable[..., Any], tmp_path: Path) -> None:
    page = opened("diagnose&p.diagnose.run=other")
    tab = tab_of(page)
    with page.expect_download() as download:
        tab.get_by_text("Download the trace").click()
    download.value.save_as(tmp_path / "trace")
    assert download.value.suggested_filename == "other.trace.json.gz"
    assert json.loads(gzip.decompress((tmp_path / "trace").read_bytes()))["traceEvents"]


def test_links_within_the_report_stay_in_it(opened: Callable[..., Any]) -> None:
    tab = tab_of(opened("diagnose"))
    tab.locator(".contents a").last.click()
    assert tab.locator(":target").count() == 1


def test_a_damaged_report_is_a_sentence(opened: Callable[..., Any]) -> None:
    tab = tab_of(opened("diagnose"))
    tab.locator("tbody label", has_text="damaged").click()
    alert = tab.get_by_role("alert")
    alert.wait_for()
    assert "report.json is damaged" in alert.inner_text()
    assert tab.locator("tbody label").all_inner_texts()[-1] == HOSTILE


@pytest.mark.long
def test_a_run_that_ended_meanwhile_appears_when_tensorboard_reloads(
    opened: Callable[..., Any], logdir: Path
) -> None:
    page = opened("diagnose")
    tab = tab_of(page)
    _copied("host-reads/sick", logdir / "later", "2026-11-21T06:00:00+00:00")
    time.sleep(2.5)  # the list is not looked for twice in two seconds
    page.locator("app-header-reload button").click()
    tab.locator("tbody label", has_text="later").wait_for()
    shutil.rmtree(logdir / "later")


@pytest.mark.long
def test_a_long_list_of_runs_is_folded_and_the_report_comes_first(
    opened: Callable[..., Any], logdir: Path
) -> None:
    for number in range(2):  # not of the latest, which the tests after this one are shown
        shutil.copytree(logdir / "other", logdir / f"again{number}")
    time.sleep(2.5)  # the list is not looked for twice in two seconds
    tab = tab_of(opened("diagnose&p.diagnose.run=cured"))
    tab.get_by_text("6 runs – shown: cured").wait_for()
    assert not tab.locator("tbody label", has_text="again0").is_visible()
    assert tab.locator("h1").evaluate("title => title.getBoundingClientRect().top") < 150
    tab.locator(".tab-runs summary").click()
    assert tab.locator("tbody label", has_text="again1").is_visible()
    for number in range(2):
        shutil.rmtree(logdir / f"again{number}")


@pytest.mark.parametrize(
    ("scheme", "ground"),
    [pytest.param("light", "rgb(255, 255, 255)", marks=pytest.mark.long), ("dark", "rgb(20, 23, 28)")],
)
def test_the_tab_is_as_dark_as_tensorboard(opened: Callable[..., Any], scheme: str, ground: str) -> None:
    tab = tab_of(opened("diagnose", color_scheme=scheme))
    assert tab.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") == ground


@pytest.mark.parametrize("width", [420, 1400])
def test_nothing_is_wider_than_the_window(opened: Callable[..., Any], width: int) -> None:
    tab = tab_of(opened("diagnose", viewport={"width": width, "height": 900}))
    assert tab.locator("html").evaluate("page => page.scrollWidth <= page.clientWidth")


def test_tensorboards_own_tabs_show_the_report_and_the_numbers(opened: Callable[..., Any]) -> None:
    opened("text").get_by_text("What to do").first.wait_for()
    page = opened("scalars")
    for group in ("step_ms", "used_bytes"):
        page.get_by_text(group).first.wait_for()
