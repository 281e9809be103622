"""report.html in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnose.document import text
from diagnose.document.model import RowAccount, Spender
from diagnose.report import page as page_module
from diagnose.report.page import page

from ..report import documents
from ..report.documents import HOSTILE_NAMES, Document, change, changed
from . import paper
from .conftest import Visit
from .pictures import Picture, crowded, picture

Open = Callable[..., Any]


@pytest.fixture
def show(visit: Visit, tmp_path: Path) -> Open:
    """`show(document, picture, …)`: the report opened as a file, with what `visit` takes."""

    def show(document: Document, drawn: Picture | None = None, **looks: Any) -> Any:
        file = tmp_path / "report.html"
        file.write_text(page(document, drawn), encoding="utf-8")
        shown = visit(file.as_uri(), **looks)
        shown.locator(".dg-theme").wait_for()  # shown last of all by the script
        return shown

    return show


class Canvas:
    """The timeline, asked in ms and lanes."""

    def __init__(self, shown: Any) -> None:
        self.locator = shown.locator("canvas")
        self.locator.scroll_into_view_if_needed()
        self.waited("data-version", "0")
        self.mouse = shown.mouse

    def waited(self, name: str, value: str) -> None:
        from playwright.sync_api import expect

        expect(self.locator).to_have_attribute(name, value)

    def settle(self) -> None:
        """Until what was asked for so far is drawn."""
        self.locator.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def data(self, name: str) -> str:
        return str(self.locator.get_attribute(f"data-{name}"))

    def span_ms(self) -> tuple[float, float]:
        return float(self.data("from")) / 1000, float(self.data("to")) / 1000

    def point(self, ms: float, lane: int | None, depth: int = 0) -> tuple[float, float]:
        """In the middle of a row, in pixels of the canvas; the strip of causes where `lane` is None."""
        start, end = self.span_ms()
        width = self.locator.evaluate("canvas => canvas.clientWidth")
        tops, row = [float(top) for top in self.data("tops").split()], float(self.data("row"))
        y = float(self.data("strip")) + 12 if lane is None else tops[lane] + (depth + 0.5) * row
        return (ms - start) / (end - start) * width, y

    def colours(self, ms: float, lane: int | None, depth: int = 0) -> set[tuple[int, ...]]:
        """The colours in a column of the row at a time, edges included."""
        return self.column(*self.point(ms, lane, depth), half=11 if lane is None else 8)

    def column(self, x: float, y: float, half: float) -> set[tuple[int, ...]]:
        """The colours up to `half` above and below a point."""
        read = """(canvas, [x, y, half]) => {
            const ratio = canvas.width / canvas.clientWidth;
            const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true }), high = 2 * half * ratio;
            copy.drawImage(canvas, Math.floor(x * ratio), Math.floor((y - half) * ratio), 1, high, 0, 0, 1, high);
            return [...copy.getImageData(0, 0, 1, high).data];
        }"""
        flat = self.locator.evaluate(read, [x, y, half])
        return {tuple(flat[at : at + 3]) for at in range(0, len(flat), 4)}

    def hover(self, ms: float, lane: int | None, depth: int = 0) -> None:
        box, (x, y) = self.locator.bounding_box(), self.point(ms, lane, depth)
        self.mouse.move(box["x"] + x, box["y"] + y)


def rgb(shown: Any, selector: str, rule: str) -> tuple[int, ...]:
    value = shown.locator(selector).first.evaluate(f"element => getComputedStyle(element).{rule}")
    return tuple(int(part) for part in value.removeprefix("rgb(").removesuffix(")").split(","))


def ink(shown: Any, name: str) -> tuple[int, ...]:
    """A colour of the page by its name in page.css."""
    read = (
        "(at, name) => { const one = document.createElement('i'); at.append(one); one.style.color = "
        "`var(--${name})`;"
    )
    read += " const found = getComputedStyle(one).color; one.remove(); return found; }"
    value = shown.locator(".diagnose").evaluate(read, name)
    return tuple(int(part) for part in value.removeprefix("rgb(").removesuffix(")").split(","))


# ---- the picture


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_events_are_drawn_where_they_happen_and_nothing_else(show: Open, scheme: str) -> None:
    shown = show(documents.sick(), picture(), scheme=scheme)
    canvas, ground = Canvas(shown), ink(shown, "ground")
    # the inner operator, 70–80 ms
    assert canvas.colours(75, 0, 1) != {ground} and canvas.colours(65, 0, 1) == {ground}
    assert (119, 170, 221) in canvas.colours(95, 2)  # a multiplication of matrices
    assert canvas.colours(75, 2) == {ground}
    assert canvas.colours(51, 1) == {ground}  # the loader does nothing as it is


def test_the_peak_of_memory_is_a_line_through_all_lanes(show: Open) -> None:
    drawn = picture()
    drawn["versions"][0]["peak_us"] = 65_000.0
    shown = show(documents.sick(), drawn)
    canvas, colour = Canvas(shown), ink(shown, "ink")
    assert colour in canvas.colours(65, None) and colour in canvas.colours(65, 2)
    assert colour not in canvas.colours(66, 2) and colour not in canvas.colours(64, 2)


def test_events_of_a_finding_stand_out_by_more_than_their_colour(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas, accent = Canvas(shown), ink(shown, "accent")
    columns = [canvas.colours(ms, 0) for ms in (41, 42, 43, 44)]
    assert all(accent in column for column in columns)  # the outline
    assert all(len(column) > 2 for column in columns)  # hatched
    assert accent not in canvas.colours(85, 0)


def test_the_strip_has_the_colours_of_the_ledger(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas = Canvas(shown)
    for ms, row in ((30, "input_wait"), (90, "forward")):
        assert canvas.colours(ms, None) == {rgb(shown, f".ledger .row-{row} .swatch", "backgroundColor")}


def test_names_tell_the_kind_of_an_event(visit: Visit) -> None:
    shown = visit("about:blank")
    kinds = {
        "matmul": [
            "aten::addmm",
            "void cutlass::Kernel2",
            "ConvolutionBackward0",
            "aten::linear",
            "nvjet_tst_64x8",
        ],
        "norm": ["aten::native_batch_norm", "void cudnn::bn_bw_1C11_kernel_new", "aten::_softmax"],
        "elementwise": ["aten::add_", "ReluBackward0", "rotary_embedding_kernel"],
        "copy": ["aten::copy_", "Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync", ".item()", "aten::to"],
        "memory": ["aten::empty", "Memset (Device)", "cudaMalloc", "cudaFree"],
        "communication": ["ncclKernel_AllReduce_RING_LL_Sum_float", "c10d::allreduce_", "gloo:all_reduce"],
        "update": ["Optimizer.step#SGD.step", "optimizer step", "aten::_foreach_add_", "NllLossBackward0"],
        "none": [
            "forward",
            "next batch",
            "cudaLaunchKernel",
            "ProfilerStep#5",
            "normal work",
            "waiting for a worker process",
        ],
    }
    source = (Path(page_module.__file__).parent / "js" / "kinds.js").read_text(encoding="utf-8")
    read = f"(names) => {{ {source}; return names.map((name) => KINDS[kindOf(name)]?.[0] ?? 'none'); }}"
    assert {kind: shown.evaluate(read, names) for kind, names in kinds.items()} == {
        kind: [kind] * len(names) for kind, names in kinds.items()
    }


@pytest.mark.parametrize("width", [420, 1400])
def test_operators_have_the_colour_of_their_kind_and_a_legend(show: Open, width: int) -> None:
    shown = show(documents.sick(), width=width)
    operators = shown.locator("#dg-operators")
    matmul = operators.get_by_role("row", name="aten::addmm").locator(".swatch")
    assert matmul.is_visible()
    assert rgb(shown, "#dg-operators tr:has-text('aten::addmm') .swatch", "backgroundColor") == (
        119,
        170,
        221,
    )
    legend = operators.locator(".legend li").all_inner_texts()
    assert legend == ["loss and optimizer", "matrix multiplication and convolution"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_switch_of_the_colour_scheme_draws_anew(show: Open, scheme: str) -> None:
    shown = show(documents.sick(), picture(), scheme=scheme)
    canvas, before = Canvas(shown), ink(shown, "ground")
    shown.locator(".dg-theme").click()
    after = ink(shown, "ground")
    assert after != before
    canvas.settle()
    assert canvas.colours(75, 2) == {after}
    assert rgb(shown, "body", "backgroundColor") == after


def test_hovering_tells_name_lane_times_place_and_finding(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas, tip = Canvas(shown), shown.locator(".tip")
    assert not tip.is_visible()
    canvas.hover(30, 0)
    said = tip.inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert said.splitlines() == [
        "next batch",
        "Training thread",
        "starts at 0 ms, takes 60.0 ms",
        "train.py:41",
        "Finding 1. Load batches in worker processes",
    ]
    canvas.hover(75, 0, 1)
    assert "aten::addmm" in tip.inner_text()
    canvas.hover(30, None)
    assert "the training thread waits for the next batch" in tip.inner_text()
    canvas.hover(30, 2)
    assert not tip.is_visible()


@pytest.mark.parametrize("goes", ["leave", "Escape", "scroll", "touch elsewhere"])
def test_what_is_told_of_an_event_goes_away(show: Open, goes: str) -> None:
    shown = show(documents.sick(), picture())
    canvas, tip = Canvas(shown), shown.locator(".tip")
    canvas.hover(30, 0)
    tip.wait_for()
    if goes == "leave":
        shown.mouse.move(0, 0)
    elif goes == "Escape":
        shown.keyboard.press("Escape")
    elif goes == "scroll":
        shown.evaluate("scrollBy(0, -50)")
    else:
        shown.locator("h1").dispatch_event("pointerdown")
    tip.wait_for(state="hidden")


def test_a_finger_is_told_what_it_touches(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas, tip = Canvas(shown), shown.locator(".tip")
    x, y = canvas.point(30, 0)
    at = {"bubbles": True, "pointerType": "touch", "pointerId": 1, "button": 0}
    box = canvas.locator.bounding_box()
    at |= {"clientX": box["x"] + x, "clientY": box["y"] + y}
    canvas.locator.evaluate("canvas => { canvas.setPointerCapture = () => {}; }")
    for event in ("pointerdown", "pointerup", "pointerleave"):
        canvas.locator.dispatch_event(event, at)
    assert "next batch" in tip.inner_text()
    shown.locator("h1").dispatch_event("pointerdown")
    tip.wait_for(state="hidden")


def test_a_click_keeps_the_details_and_escape_lets_them_go(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas, picked = Canvas(shown), shown.locator(".picked")
    canvas.hover(90, 2)
    shown.mouse.down()
    shown.mouse.up()
    shown.mouse.move(0, 0)
    assert "gemm<float>" in picked.inner_text()
    canvas.locator.press("Escape")
    assert picked.inner_text() == ""


def test_the_switch_changes_picture_ledger_and_step_time_on_one_scale(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas, ground = Canvas(shown), ink(shown, "ground")
    said = shown.locator("[data-part=step-time]")
    assert said.inner_text().replace("\N{NO-BREAK SPACE}", " ") == "Step: 100 ms"
    server = shown.locator(".ledger").inner_html()
    assert canvas.colours(21, 1) == {ground}

    shown.get_by_label("After fix 1").check()
    canvas.waited("data-version", "1")
    assert said.inner_text().replace("\N{NO-BREAK SPACE}", " ") == "Step: 100 ms → 50 ms, as predicted"
    row = shown.locator(".ledger [data-row=input_wait]")
    assert row.inner_text().replace("\N{NO-BREAK SPACE}", " ").split("\t")[1:3] == [
        "60.0 ms → 10.0 ms",
        "20 %",
    ]
    assert row.locator("rect.fill").get_attribute("width") == "10.00%"  # of the step as it was
    assert row.locator("rect.before").get_attribute("width") == "60.00%"
    assert canvas.span_ms() == (0, 100)
    assert canvas.colours(21, 1) != {ground}  # the worker now loads
    # beyond the end: hatched, no event
    assert canvas.colours(75, 0) != {ground} and ink(shown, "host") not in canvas.colours(75, 0)

    shown.get_by_label("As it is").check()
    canvas.waited("data-version", "0")
    assert shown.locator(".ledger").inner_html() == server


@pytest.mark.parametrize("whole_trace", [False, True])
def test_a_predicted_ledger_has_its_cells_below_the_headers_that_they_belong_to(
    show: Open, whole_trace: bool
) -> None:
    document = documents.sick()
    spender = Spender(
        name="train.py:41", kind="line", ms_per_step=60.0, share=0.6, count_per_step=1.0, headroom_ms=None
    )
    change(document, account=[RowAccount(row="input_wait", spenders=[spender])])
    if whole_trace:
        change(document.steps, step_source="whole trace")
    drawn = picture()
    drawn["versions"][1]["ledger"]["overhead"] = 2.0  # a part that the step has only after the fix
    shown = show(document, drawn)
    ledger = shown.locator(".ledger")
    headers = ledger.locator("thead th").all_inner_texts()

    def under(header: str, row: str) -> str:
        return str(ledger.locator(f"{row} > *").nth(headers.index(header)).text_content())

    foot = ledger.locator("tfoot th").inner_text()
    assert foot == ("Recording" if whole_trace else "Step")
    shown.get_by_label("After fix 1").check()
    for row in ("tbody tr", "tfoot tr"):
        for cells in ledger.locator(row).all():
            assert cells.locator("> *").count() == len(headers)
    assert ledger.locator("tfoot th").inner_text() == foot
    waiting = "[data-row=input_wait]"
    assert under("Meaning", waiting) == "the training thread waits for the next batch"
    # what takes most of a part was measured before the fix
    assert under("Most of it", waiting) == ""
    assert ledger.locator("[data-row=overhead] th").inner_text() == "overhead"


def test_keys_zoom_pan_and_reset(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas = Canvas(shown)
    canvas.locator.focus()
    shown.keyboard.press("+")
    canvas.settle()
    start, end = canvas.span_ms()
    assert end - start == pytest.approx(100 / 1.5) and (start + end) / 2 == pytest.approx(50)
    shown.keyboard.press("ArrowRight")
    canvas.settle()
    assert canvas.span_ms()[0] == pytest.approx(start + 0.2 * (end - start))
    for _ in range(9):
        shown.keyboard.press("ArrowRight")
    canvas.settle()
    assert canvas.span_ms()[1] == pytest.approx(100)  # no further than the end
    shown.keyboard.press("0")
    canvas.settle()
    assert canvas.span_ms() == (0, 100)


def test_zoomed_in_all_of_the_step_is_there_as_well_and_moves_the_view(show: Open) -> None:
    shown = show(documents.sick(), picture())
    canvas = Canvas(shown)
    assert canvas.column(300, 6, half=3) == {ink(shown, "ground")}
    for _ in range(2):
        shown.get_by_role("button", name="Zoom in").click()
    canvas.settle()
    assert canvas.span_ms() == pytest.approx((37.5, 62.5))
    assert canvas.column(300, 6, half=3) != {ink(shown, "ground")}
    box = canvas.locator.bounding_box()
    shown.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 6)
    canvas.settle()
    assert canvas.span_ms() == pytest.approx((67.5, 92.5), abs=0.2)


def test_buttons_wheel_and_dragging_move_the_view(show: Open) -> None:
    from playwright.sync_api import expect

    shown = show(documents.sick(), picture())
    canvas = Canvas(shown)
    shown.get_by_role("button", name="Zoom in").click()
    canvas.settle()
    assert canvas.span_ms() == pytest.approx((25, 75))
    canvas.hover(50, 0)
    shown.mouse.down()
    box = canvas.locator.bounding_box()
    # a quarter of the width to the left
    shown.mouse.move(box["x"] + box["width"] / 4, box["y"] + canvas.point(50, 0)[1], steps=4)
    shown.mouse.up()
    canvas.settle()
    assert canvas.span_ms() == pytest.approx((37.5, 87.5), abs=0.2)
    shown.get_by_role("button", name="Show the whole step").click()
    canvas.settle()
    canvas.hover(50, 0)
    shown.mouse.wheel(0, -100)  # scrolls the page, as everywhere
    canvas.settle()
    assert canvas.span_ms() == (0, 100)
    canvas.hover(50, 0)
    shown.keyboard.down("Control")
    shown.mouse.wheel(0, -100)
    shown.keyboard.up("Control")
    expect(canvas.locator).not_to_have_attribute("data-from", "0")
    start, end = canvas.span_ms()
    assert end - start < 90 and start < 50 < end


def test_a_finding_leads_to_its_longest_event(show: Open) -> None:
    drawn = picture()
    drawn["versions"][0]["events"]["finding"] = [-1, -1, 0, -1]  # the operator at 70–80 ms
    shown = show(documents.two_fixes(), drawn)
    shown.get_by_label("After fix 1").check()
    buttons = shown.locator("[data-show]:visible")
    assert buttons.all_inner_texts() == ["Show finding 1 in the picture"]  # the second has no events
    buttons.click()
    canvas = Canvas(shown)
    canvas.settle()
    start, end = canvas.span_ms()
    assert (start, end) == pytest.approx((60, 90))
    assert "aten::addmm" in shown.locator(".picked").inner_text()
    assert canvas.locator.evaluate("canvas => canvas === document.activeElement")


def test_n_and_p_go_from_event_to_event_of_findings(show: Open) -> None:
    drawn = picture()
    drawn["versions"][0]["events"]["finding"] = [-1, -1, 0, 0]  # of 10 and of 20 ms
    shown = show(documents.sick(), drawn)
    canvas, picked = Canvas(shown), shown.locator(".picked b")
    canvas.locator.focus()
    told = []
    for key in "nnnp":
        shown.keyboard.press(key)
        told.append(picked.inner_text())
    assert told == ["gemm<float>", "aten::addmm", "gemm<float>", "aten::addmm"]


def test_a_crowd_of_events_is_merged_and_none_of_a_finding_is_lost(show: Open) -> None:
    shown = show(documents.sick(), crowded())
    canvas = Canvas(shown)
    assert 500 < int(canvas.data("painted")) < 3000  # of 20,000, on a canvas of about 1,000 pixels
    near = [canvas.colours(50 + offset / 100, 0) for offset in range(-15, 16)]
    assert any(ink(shown, "accent") in column for column in near)


def test_the_longest_events_are_there_as_a_table(show: Open) -> None:
    shown = show(documents.sick(), picture())
    shown.locator(".longest summary").click()
    first = shown.locator(".longest tbody tr").first.inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert first.split("\t") == [
        "next batch",
        "Training thread",
        "0 ms",
        "60.0 ms",
        "train.py:41",
        "1. Load batches in worker processes",
    ]


def test_memory_and_roofline_are_drawn_where_the_picture_has_them(show: Open) -> None:
    shown = show(documents.sick(), picture())
    assert shown.locator("#dg-memory svg polyline").is_visible()
    assert shown.locator("#dg-roofline .kernel").count() == 2
    assert shown.locator("#dg-roofline .roof").count() == 2
    # fp32 at 40 FLOP a byte: the roof is its peak, 1.9e13, of which 1e13 are 53 %; bf16 at 8: 8 ×
    # 1.5e12 = 1.2e13, of which 3e12 are 25 %
    cells = shown.locator("#dg-roofline tbody td:last-child").all_inner_texts()
    assert [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in cells] == ["53 %", "25 %"]
    assert shown.locator(".contents").get_by_text("Memory").is_visible()


@pytest.mark.parametrize(
    "drawn", [None, picture() | {"versions": [], "memory": [], "roofline": None}], ids=["none", "empty"]
)
def test_without_a_picture_its_parts_are_left_out(show: Open, drawn: Picture | None) -> None:
    shown = show(documents.sick(), drawn)
    assert shown.locator("canvas").count() == 0
    assert not shown.locator(".versions").is_visible()
    assert not shown.locator("#dg-memory").is_visible() and not shown.locator("#dg-roofline").is_visible()
    assert not shown.locator(".contents").get_by_text("Memory").is_visible()
    assert shown.locator(".ledger").is_visible()


# ---- the page


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "document", [documents.sick, documents.two_fixes, documents.healthy, documents.empty, documents.crashed]
)
def test_no_page_scrolls_sideways(
    show: Open, document: Callable[[], Document], width: int, scheme: str
) -> None:
    shown = show(document(), picture(), width=width, scheme=scheme)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    "document", [documents.sick, documents.two_fixes, documents.healthy, documents.empty]
)
def test_nothing_is_cut_on_a_narrow_screen(show: Open, document: Callable[[], Document]) -> None:
    shown = show(document(), picture(), width=420)
    shown.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    cut = """[...document.querySelectorAll('.diagnose *')].filter((one) =>
        one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible'
        && !one.matches('.unseen, thead')).map((one) => one.outerHTML.slice(0, 100))"""
    assert shown.evaluate(cut) == []
    drawn = """[...document.querySelectorAll('.chart text')].map((text) => text.getBoundingClientRect())
        .filter(({ left, right }) => left < 0 || right > innerWidth).length"""
    assert shown.evaluate(drawn) == 0


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_text(show: Open, name: str) -> None:
    drawn = picture()
    drawn["names"] = [name.encode("utf-8", "replace").decode()] * 4
    drawn["lanes"][0]["title"] = drawn["findings"][0]["title"] = drawn["versions"][1]["title"] = drawn[
        "names"
    ][0]
    drawn["rows"][0] |= {"title": drawn["names"][0], "meaning": drawn["names"][0], "row": drawn["names"][0]}
    shown = show(documents.hostile(name), drawn, width=1400)
    shown.locator("[name^=dg-version]").nth(1).check(force=True)
    for width in (1400, 420):
        shown.set_viewport_size({"width": width, "height": 900})
        Canvas.hover(canvas := _drawn(shown), 20, 0)
        assert canvas.data("version") == "1"
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.locator("script").count() == 2  # the picture and ours
    assert shown.locator("img, iframe, object, embed, link[rel=stylesheet]").count() == 0


def _drawn(shown: Any) -> Canvas:
    canvas = Canvas.__new__(Canvas)
    canvas.locator, canvas.mouse = shown.locator("canvas"), shown.mouse
    canvas.locator.scroll_into_view_if_needed()
    canvas.waited("data-version", "1")
    return canvas


def test_three_hundred_findings_and_names_of_a_megabyte_do_not_break_it(show: Open) -> None:
    document, drawn, name = documents.sick(), picture(), "x" * 2**20
    for number in range(300):
        finding = changed(document.findings[0], rule=f"rule-{number}")
        change(finding.culprits[0], source=name, file=name)
        document.findings.append(finding)
        document.plan.append(changed(document.plan[0], rule=f"rule-{number}"))
    drawn["names"][0] = drawn["lanes"][0]["title"] = name
    assert len(page(document, drawn)) < 2e6
    shown = show(document, drawn, width=420)
    Canvas(shown).hover(30, 0)
    assert len(shown.locator(".tip").inner_text()) < 500
    # the planned ones and the one that would matter on a GPU
    assert shown.locator(".finding:visible").count() == 302
    assert shown.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize("document", [documents.sick, documents.healthy, documents.empty])
def test_the_last_words_of_the_page_are_on_paper(show: Open, document: Callable[[], Document]) -> None:
    shown = show(document(), picture())
    closed = shown.locator("#dg-not_judged table, #dg-method li").last
    assert not closed.is_visible()
    words = "".join((shown.locator("#dg-main").text_content() or "").split())
    *_, last = paper.pages(shown.pdf(format="A4"))
    assert last[-40:] == words[-40:]
    assert not closed.is_visible()  # folded again


def test_what_serves_the_screen_alone_is_not_on_paper(show: Open) -> None:
    shown = show(documents.sick(), picture())
    shown.emulate_media(media="print")
    for selector in (".contents", ".tools", ".dg-theme", ".command button"):
        assert not shown.locator(selector).first.is_visible()


def test_paper_is_white_whatever_the_screen_is(show: Open) -> None:
    shown = show(documents.sick(), picture(), scheme="dark")
    canvas = Canvas(shown)
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert canvas.colours(75, 2) == {(255, 255, 255)}
    shown.evaluate("dispatchEvent(new Event('afterprint'))")
    canvas.settle()
    assert canvas.colours(75, 2) == {ink(shown, "ground")} != {(255, 255, 255)}


def test_the_keyboard_reaches_everything_in_order(show: Open) -> None:
    shown = show(documents.sick(), picture())
    shown.keyboard.press("Tab")
    assert "colours" in shown.evaluate("document.activeElement.getAttribute('aria-label')")
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.className") == "skip"
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.id") == "dg-main"
    reached = set()
    for _ in range(40):
        shown.keyboard.press("Tab")
        reached.add(shown.evaluate("document.activeElement.tagName"))
    assert {"BUTTON", "INPUT", "CANVAS", "SUMMARY", "A"} <= reached


def test_the_command_is_copied_or_selected(show: Open) -> None:
    shown = show(documents.sick())
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.locator("[data-copy]").last.click()
    shown.get_by_text("Copied").wait_for()
    assert shown.evaluate("navigator.clipboard.readText()") == "python -m diagnose train.py --epochs 3"


def test_numbers_read_as_in_the_rest_of_the_report(visit: Visit) -> None:
    shown = visit("about:blank")
    values = [0, 0.0004, 0.001, 0.0346, 0.1, 0.9996, 1, 9.995, 12.345, 99.95, 123.4, 999.6, 1234.6, 98765.4]
    shares = [0, 0.0004, 0.0006, 0.042, 0.0994, 0.0996, 0.333, 1]
    sizes = [0, 512, 1024, 1536, 1.5 * 2**20, 2**40]
    saved = [
        (13.87, 13.93),
        (817.9, 377.2),
        (8.7, 3.6),
        (0.6, 99.4),
        (118.03, 56.8),
        (5.0, 300.0),
        (0.0004, 2),
    ]
    source = (Path(page_module.__file__).parent / "js" / "text.js").read_text(encoding="utf-8")
    told = f"{json.dumps(values)}.map(ms), {json.dumps(shares)}.map(share), {json.dumps(sizes)}.map(size)"
    found = shown.evaluate(
        f"() => {{ {source}; return [{told}, {json.dumps(saved)}.map((both) => less(...both))]; }}"
    )
    said = [[one.replace("\N{NO-BREAK SPACE}", " ") for one in part] for part in found]
    assert said == [
        [text.ms(value) for value in values],
        [text.share(value) for value in shares],
        [text.size(value) for value in sizes],
        [text.less(*both) for both in saved],
    ]


@pytest.mark.parametrize("width", [420, 1300])
def test_the_ledger_with_its_names_fits_the_page(show: Open, width: int) -> None:
    document = documents.healthy()
    name = "aten::a_name_that_is_long_" + 3 * "and_longer_"
    spender = Spender(
        name=name, kind="operator", ms_per_step=3.0, share=0.3, count_per_step=1.0, headroom_ms=None
    )
    document.ledger[0].title = "Exposed communication"
    change(document.ledger[-1], ms_per_step=0.0004, share=0.0001)
    change(document, account=[RowAccount(row=document.ledger[0].row, spenders=[spender, spender])])
    fits = show(document, width=width).evaluate(
        "() => (table => table.scrollWidth <= table.parentElement.clientWidth)"
        "(document.querySelector('table.ledger'))"
    )
    assert fits
