"""report.html: the report as markup that nothing can break, in a file that needs nothing else.

What moves is tested in tests/browser.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from diagnose.report import sentences
from diagnose.report.html import prose, reference, row_class
from diagnose.report.markdown import markdown
from diagnose.report.page import assets, fragment, page
from diagnose.report.page.picture import packed
from diagnose.report.page.strip import strip

from ..browser.pictures import crowded, picture
from . import documents
from .documents import HOSTILE_NAMES, Document, change, changed
from .test_verification import proof, tried

VOID = {"meta", "link", "br", "img", "input", "hr"}
ALL = [
    documents.sick,
    documents.two_fixes,
    documents.some_steps,
    documents.unpredicted,
    documents.healthy,
    documents.empty,
    documents.crashed,
]


class Outline(HTMLParser):
    """What a browser would make of a page: texts, tags with their
    attributes, and what is not closed in order.
    """

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.misplaced: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        self.misplaced += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.misplaced.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open[-1:] not in (["script"], ["style"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).replace("\N{NO-BREAK SPACE}", " ").split())

    def headings(self) -> list[int]:
        return [int(tag[1]) for tag, _ in self.tags if re.fullmatch(r"h[1-6]", tag)]

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]


def verified() -> Document:
    """The sick run with one fix measured, its workers searched for, and a patch."""
    document = documents.sick()
    curve = {"argument": "num_workers", "ms": {"1": 44.0, "2": 31.0, "4": 30.8}, "best": 4, "knee": 2}
    document.verification = proof(tried(curve=curve), tried(title="Pin", state="failed", why="it was killed"))
    change(document, patch={"patched": ["input-wait-no-workers"], "unpatched": {}})
    document.run.cwd = "/home/me/job"
    return document


def outline(document: Document) -> Outline:
    return Outline(fragment(document))


# ---- what it says


def test_the_answer_comes_first() -> None:
    head, _, rest = fragment(documents.sick()).partition("<nav")
    said = Outline(head).text
    assert said.startswith(
        "Skip to the report Diagnosis of train.py Input loading without workers: 33 % of each step"
    )
    assert "Step 12.3 ms Device cpu Recorded 8 complete steps" in said
    body = Outline(rest.partition("</nav>")[2]).text
    wanted = [
        "What to do",
        "Load batches in worker processes",
        "train.py:41",
        "2.9–4.1 ms, 24–33 %",
        "8.7 ms",
        "high confidence, preview rule",
    ]
    wanted += [
        "python -m diagnose train.py --epochs 3",
        "Where a step's time goes",
        "Findings",
        "Would matter on a GPU",
        "How far to trust",
    ]
    wanted += [
        "Your lines",
        "Operators and kernels",
        "Step times",
        "Within the noise",
        "Passed",
        "Not judged",
        "How this was measured",
    ]
    places = [body.index(part) for part in wanted]
    assert places == sorted(places)


def test_a_finding_shows_evidence_culprits_and_advice() -> None:
    shown = outline(documents.sick()).text
    for part in (
        "33 %",
        "at least 5.0 %",
        "below a twentieth of the step the gain drowns in noise",
        "for x, y in loader:",
        "Why The loader has no worker processes",
        "Caution Each worker holds its own copy",
        "The fix is predicted to save 2.9–4.1 ms a step, 24–33 %; a step then takes 8.7 ms.",
        "This takes about 4.10 ms per step.",
        "Severity high",
        "not yet proven",
        "python -m diagnose rules input-wait-no-workers explains the rule",
    ):
        assert part in shown


def test_before_and_after_keep_their_lines() -> None:
    document = documents.sick()
    change(document.findings[0].fix, before="for x in loader:\n    x <y>", after="for x in ahead:\n    y")
    assert "<pre><code>for x in loader:\n    x &lt;y&gt;</code></pre>" in fragment(document)


def test_what_the_same_time_is_also_seen_as_stands_with_its_cause() -> None:
    document = documents.sick()
    document.findings[1].because_of = "input-wait-no-workers"
    change(document.findings[2], because_of="input-wait-no-workers")
    shown = outline(document).text
    assert (
        "Other rules found the same time Drop the bias (at most 0.050 ms, 0.4 %); Read tensor values" in shown
    )
    assert "Within the noise" not in shown  # it was the only one


def test_the_plan_tells_the_call_that_a_fix_changes_and_the_headline_the_line_that_takes_the_time() -> None:
    document = documents.sick()
    call = {"file": "data.py", "line": 7, "source": "loader = DataLoader(data)"}
    change(document.findings[0].fix, call_sites=[call])
    assert "(train.py:41)" in outline(document).text.partition("What to do")[0]
    assert '<td data-label="Where" class="place"><code>data.py:7</code>' in fragment(document)
    told = markdown(document)
    assert "### 1. Load batches in worker processes – `data.py:7`" in told
    assert "`data.py:7`" in told.partition("## What to do")[2].partition("## Where")[0]


def test_alternatives_are_told_with_what_they_replace() -> None:
    document = documents.sick()
    other = documents.finding(
        "slow-item-line",
        group="alternative",
        title="Make the line cheaper",
        predicted=(2.0, 1.5, 2.5, "high"),
    )
    change(other, alternative_to="input-wait-no-workers")
    document.findings.append(other)
    shown = outline(document).text
    # of 12.3 ms
    assert "Instead of Fix Where Saves per step 1 Make the line cheaper – 1.5–2.5 ms, 12–20 %" in shown


def test_a_measured_fix_shows_verdict_losses_curve_and_patch() -> None:
    markup = fragment(verified())
    shown = Outline(markup).text
    for part in (
        "3.8–4.2 ms of 10.0 ms",
        "faster by 38–42 %",
        "the same to the bit (40 compared)",
        "failed: it was killed",
        "dataloader(num_workers=2)",
        "A step by num_workers",
        "2 31.0 ms the smallest that is as good as any",
        "git apply fixes.diff makes fix 1; type it in /home/me/job .",
    ):
        assert part in shown
    assert 'width="70.5%"' in markup  # 31.0 of 44.0 ms
    assert "diagnose verify" not in shown  # it has been


def test_what_verify_is_for_is_told_where_it_can_do_something() -> None:
    document = documents.sick()
    document.findings[0].fix.intervention = "dataloader"
    assert "python -m diagnose verify" in outline(document).text
    assert "diagnose verify" not in outline(documents.sick()).text


def test_not_judged_tells_what_would_tell() -> None:
    shown = outline(documents.sick()).text
    assert "no GPU in this recording --device cuda pageable-htod-copies , host-sync" in shown
    assert "row-loop ZeroDivisionError: division by zero" in shown


def test_what_passed_is_listed_by_the_part_of_the_step() -> None:
    document = documents.sick()
    document.findings = [finding for finding in document.findings if finding.state != "quiet"]
    document.findings += [
        changed(document.findings[0], rule=rule, state="quiet", group=None, refines=refines, cause=cause)
        for rule, refines, cause in (
            ("slow-item-line", "input-wait", "One slow line of the data set"),
            ("input-wait", "input_wait", "Waiting for batches"),
            ("gc-pauses", "step", "Garbage collection"),
        )
    ]
    shown = outline(document).text
    assert (
        "Looked for and not found. Input wait One slow line of the data set Waiting for batches "
        "The step as a whole Garbage collection" in shown
    )


def test_badge_and_doubt_stand_below_the_headline_only_where_there_are_some() -> None:
    document = documents.sick()
    assert "badge" not in fragment(document)
    document.badge, document.doubt = "noisy run", "Other programs used 87 % of the CPU."
    head, _, _ = fragment(document).partition("<dl")
    assert Outline(head).text.endswith("noisy run Other programs used 87 % of the CPU.")


def test_without_a_step_it_says_what_happened_and_what_to_try() -> None:
    shown = outline(documents.crashed()).text
    assert "The script failed with exit code 1" in shown and "Fix the error first" in shown
    assert "What to do" not in shown and "Where a step's time goes" not in shown
    assert "nothing to judge" in outline(documents.empty()).text


def test_a_healthy_run_is_told_so() -> None:
    document = documents.healthy()
    assert prose(sentences.nothing_to_do(document)) in fragment(document)
    assert (
        "ampere_sgemm_128x64_tn 7.50 ms 61 % 6 1.25 ms fp32, no tensor cores 40 %" in outline(document).text
    )


def test_unpredicted_says_why_and_what_it_costs() -> None:
    shown = outline(documents.unpredicted()).text
    assert "Costs per step" in shown and "4.10 ms, 33 %" in shown
    assert "replaying the recorded steps misses them by 62 %" in shown


# ---- its markup


@pytest.mark.parametrize("document", [*ALL, verified], ids=lambda one: one.__name__)
def test_the_markup_is_sound(document: Any) -> None:
    shown = outline(document())
    assert shown.misplaced == []
    ids = shown.values("id")
    assert len(ids) == len(set(ids))
    assert set(shown.values("aria-labelledby")) <= set(ids)
    assert {link.removeprefix("#") for link in shown.values("href") if link.startswith("#")} <= set(ids)
    headings = shown.headings()
    assert headings[0] == 1 and headings.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(headings))
    assert all(attributes.get("scope") for tag, attributes in shown.tags if tag == "th")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_becomes_markup(name: str) -> None:
    ours, theirs = outline(documents.sick()), outline(documents.hostile(name))
    assert theirs.misplaced == []
    assert {tag for tag, _ in theirs.tags} <= {tag for tag, _ in ours.tags}
    assert {attribute for _, one in theirs.tags for attribute in one} <= {
        attribute for _, one in ours.tags for attribute in one
    }
    assert [link for link in theirs.values("href") if not link.startswith("#")] == [
        link for link in ours.values("href") if link[0] != "#"
    ]
    page(documents.hostile(name), picture()).encode("utf-8")  # no lone surrogate is left
    assert not set("\x00\x07\x1b\u202e\u200b") & set(theirs.text)


@pytest.mark.parametrize("document", [*ALL, verified], ids=lambda one: one.__name__)
def test_the_fragment_obeys_tensorboards_content_security_policy(document: Any) -> None:
    shown = outline(document())
    attributes = {attribute for _, one in shown.tags for attribute in one}
    assert not {attribute for attribute in attributes if attribute.startswith("on") or attribute == "style"}
    assert not {"script", "style", "iframe", "object", "link", "base", "form"} & {
        tag for tag, _ in shown.tags
    }
    script = assets()["page.js"].decode()
    assert not re.search(
        r"\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write|setAttribute\('style'|\bfetch\(|import[ (]",
        script,
    )
    assert re.search(r"^export function start\(root, picture\)", script, re.M)


def test_references_are_links_only_to_the_web() -> None:
    assert (
        reference("https://a.example/b?c=1&d")
        == '<a href="https://a.example/b?c=1&amp;d" rel="noopener noreferrer">a.example/b?c=1&amp;d</a>'
    )
    for address in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        'https://a.example/"onclick=x',
        "https://a.example/ b",
        "a book",
    ):
        assert "<a" not in reference(address)


def test_back_ticks_become_code_and_an_odd_one_stays() -> None:
    assert prose("call `a<b>` now") == "call <code>a&lt;b&gt;</code> now"
    assert prose("a ` b & c") == "a ` b &amp; c"
    assert prose("takes 4.1 ms, 33 %") == "takes 4.1\N{NO-BREAK SPACE}ms, 33\N{NO-BREAK SPACE}%"


def test_only_a_name_becomes_a_class() -> None:
    assert row_class("input_wait") == "row row-input_wait"
    assert row_class('x" onload="y') == "row"


# ---- the file


def test_the_file_needs_nothing_else() -> None:
    shown = Outline(page(documents.sick(), picture()))
    assert shown.misplaced == []
    assert "src" not in {attribute for _, one in shown.tags for attribute in one}
    assert {attributes["href"] for tag, attributes in shown.tags if tag == "link"} == {"data:,"}
    assert not re.search(r"url\(|@import", assets()["page.css"].decode())


def test_its_policy_lets_only_its_own_script_and_style_run() -> None:
    markup = page(documents.sick(), picture())
    policy = next(
        attributes["content"]
        for tag, attributes in Outline(markup).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    for name in ("script", "style"):
        content = re.findall(rf"<{name}(?: type=\"module\")?>(.*?)</{name}>", markup, re.S)
        assert len(content) == 1
        assert (
            f"{name}-src 'sha256-{base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()}'"
            in policy
        )


def test_the_picture_is_in_it_as_it_was() -> None:
    markup = page(documents.sick(), picture())
    content = re.search(
        r'<script type="application/octet-stream;base64" id="dg-packed">([^<]+)</script>', markup
    )
    assert content and json.loads(gzip.decompress(base64.b64decode(content[1]))) == picture()
    assert "octet-stream" not in page(documents.sick(), None).replace(assets()["page.js"].decode(), "")


def test_the_same_report_is_the_same_file() -> None:
    assert page(documents.sick(), picture()) == page(documents.sick(), picture())


def test_too_large_a_picture_keeps_its_longest_events_and_says_so() -> None:
    large = crowded(4000)
    durations = large["versions"][0]["events"]["dur"]
    durations[:] = [float(index % 97 + 1) for index in range(4000)]
    room = len(packed(large, 10**9)) // 2
    kept = json.loads(gzip.decompress(base64.b64decode(packed(large, room))))["versions"][0]
    count = len(kept["events"]["dur"])
    assert 500 <= count < 4000 and kept["left_out"]["count"] == 4000 - count
    assert min(kept["events"]["dur"]) == kept["left_out"]["shorter_than_us"] > 1
    assert kept["events"]["start"] == sorted(kept["events"]["start"])
    assert len({len(column) for column in kept["events"].values()}) == 1
    assert large["versions"][0]["left_out"]["count"] == 0  # the picture that was given is as it was


def test_a_large_report_stays_below_two_megabytes() -> None:
    document = documents.sick()
    for number in range(300):
        finding = changed(document.findings[0], rule=f"rule-{number}", why="y" * 2**20)
        change(finding.culprits[0], source="x" * 2**20, file="z" * 2**20)
        document.findings.append(finding)
        document.plan.append(changed(document.plan[0], rule=f"rule-{number}"))
    drawn = crowded(20_000)
    drawn["versions"] *= 8
    for number, one in enumerate(drawn["versions"]):
        one["events"]["start"] = [
            start * (1 + number / 1000) + 0.001 * (index * 7919 % 1000)
            for index, start in enumerate(one["events"]["start"])
        ]
    assert len(page(document, drawn).encode()) < 2e6


# ---- step times


def test_an_outlier_is_further_off_than_three_scaled_median_deviations() -> None:
    # Median 12.5; the distances 2.5, 1.5, 0.5, 0.5, 1.5, 17.5 have the median 1.5; 3 × 1.4826 × 1.5 = 6.67.
    shown = strip([10.0, 11.0, 12.0, 13.0, 14.0, 30.0])
    assert shown is not None and shown.drawing is not None
    assert shown.beyond == "6.67 ms" and shown.median == "12.5 ms" and shown.outlier_count == 1
    assert [(number, time) for number, _, _, time in shown.drawing.outliers] == [(6, "30.0 ms")]
    assert shown.drawing.outliers[0][2] == 10  # the longest step is at the top, 10 below the edge
    assert [time for _, time in shown.drawing.ticks] == ["0 ms", "10.0 ms", "20.0 ms", "30.0 ms"]
    assert "Step 6: 30.0 ms" in fragment(_with_steps([10.0, 11.0, 12.0, 13.0, 14.0, 30.0])).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_equal_steps_have_no_outliers_and_one_step_no_strip() -> None:
    shown = strip([5.0, 5.0, 5.0, 9.0])
    assert shown is not None and shown.outlier_count == 0
    assert strip([5.0]) is None and strip([]) is None


@pytest.mark.parametrize("times", [[5.0, 50.0], [5.0] * 20, [5.0, 5.5, 6.0] * 9], ids=["two", "same", "flat"])
def test_a_series_that_shows_nothing_is_told_in_words(times: list[float]) -> None:
    shown = strip(times)
    assert shown is not None and shown.drawing is None
    document = _with_steps(times)
    document.steps.timeline_series_ms = []
    markup = fragment(document).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{len(times)} steps of 5.00 ms to {max(times):.{1 if max(times) > 9 else 2}f} ms" in markup
    assert 'class="strip"' not in markup


def test_thousands_of_steps_are_a_line_with_some_marks() -> None:
    markup = fragment(
        _with_steps([10.0 + index % 7 + (100 if index % 9 == 0 else 0) for index in range(5000)])
    )
    assert "<circle" not in markup  # the other series is told in words
    assert 1 < markup.count('class="outlier"') <= 100
    assert len(markup) < 200_000


def _with_steps(times: list[float]) -> Document:
    document = documents.sick()
    document.steps.plain_series_ms = times
    return document
