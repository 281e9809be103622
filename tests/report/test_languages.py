"""Reports in another language: what catalogues say, and that they lack little."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from diagnose.judge.rules import rules_folder
from diagnose.report.languages import is_english, say, speaking
from diagnose.report.languages.catalogue import Catalogue, catalogue, has_words
from diagnose.report.languages.pages import html_spoken, markdown_spoken
from diagnose.report.languages.wide import cells, padded, wrapped
from diagnose.report.markdown import markdown
from diagnose.report.page import page
from docs.untranslated import untranslated
from tests.report import documents

ROOT = Path(__file__).parents[2]
SAMPLES = [
    ROOT / "sample_traces" / case / "sick" for case in ("input-wait", "small-ops", "threads", "gc-pauses")
]
TEXTS = ("cause", "symptom", "why", "false_positives", "title", "how", "caution", "because")
RULES = [path for path in sorted(rules_folder().glob("*.toml")) if not path.name.endswith(".cases.toml")]
SMALL = Catalogue(
    {
        "Forward": "前向",
        "the fix saves {gain}": "修复可省 {gain}",
        "{cause} takes {share} of each step": "{cause}占每步的 {share}",
        "{one}; {other}": "{one}；{other}",
        "{one} – {other}": "{one} – {other}",
        "Look at `torch.compile`.": "看看 `torch.compile`。",
        "Why": "原因",
    }
)


@pytest.mark.parametrize(
    ("english", "told"),
    [
        ("Forward", "前向"),
        ("forward", "前向"),
        ("Why.", "原因。"),
        ("Forward takes 12 % of each step", "前向占每步的 12 %"),
        ("Forward takes 12 % of each step; the fix saves 3–4 ms", "前向占每步的 12 %；修复可省 3–4 ms"),
        ("aten::mm takes 12 % of each step", "aten::mm 占每步的 12 %"),
        ("Look at `torch.compile`. Forward", "看看 `torch.compile`。前向"),
        ("What nobody translated", "What nobody translated"),
        ("12.3 ms", "12.3 ms"),
    ],
)
def test_a_finished_text_is_said_by_the_templates_that_fit(english: str, told: str) -> None:
    assert SMALL.translated(english) == told


def test_markdown_keeps_code_links_and_its_marks() -> None:
    english = "# Forward\n\n- **Why.** Forward\n\n| Why | x |\n|:--|--:|\n| Forward | `Forward` |\n\n```\nForward\n```"
    told = "# 前向\n\n- **原因。** 前向\n\n| 原因 | x |\n|:--|--:|\n| 前向 | `Forward` |\n\n```\nForward\n```"
    assert markdown_spoken(english, SMALL.translated) == told


@pytest.mark.parametrize(
    ("english", "told"),
    [
        (
            "# <code>my&#124;gan &#96;v2&#96;.py</code> takes 12 % of each step",
            "# <code>my&#124;gan &#96;v2&#96;.py</code>占每步的 12 %",
        ),
        ("| a&#124;b takes 12 % of each step |", "| a&#124;b 占每步的 12 % |"),
        ("&#60;img&#62; takes < 0.1 % of each step", "&#60;img>占每步的 < 0.1 %"),
        ("`a &lt; b` takes 12 % of each step", "`a &lt; b`占每步的 12 %"),
        ("### 1. Forward – `train.py:41`", "### 1. 前向 – `train.py:41`"),
    ],
)
def test_markdown_in_another_language_is_escaped_as_it_was(english: str, told: str) -> None:
    assert markdown_spoken(english, SMALL.translated) == told


def test_html_keeps_scripts_attributes_and_code() -> None:
    english = '<p title="Forward">Forward</p><script>let Forward = "Why";</script><p>Look at <code>torch.compile</code>.</p>'
    told = '<p title="Forward">前向</p><script>let Forward = "Why";</script><p>看看 <code>torch.compile</code>。</p>'
    assert html_spoken(english, SMALL.translated) == told


def test_what_is_hostile_in_html_stays_escaped() -> None:
    english = "<td>&lt;img src=x&gt; takes 3 % of each step</td>"
    assert html_spoken(english, SMALL.translated) == "<td>&lt;img src=x&gt;占每步的 3 %</td>"


def test_english_pages_are_left_as_they_are() -> None:
    document = documents.sick()
    assert is_english()
    assert markdown_spoken(markdown(document)) == markdown(document)


def test_one_language_is_spoken_at_a_time() -> None:
    with speaking("zh"):
        assert say("Forward") == "前向"
    assert say("Forward") == "Forward"


def rule_texts(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            told = key in TEXTS and isinstance(value, str) and value != "noise"  # a word of the rules'
            yield from [value] if told else rule_texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from rule_texts(value)


@pytest.mark.parametrize("rule", RULES, ids=lambda path: path.stem)
def test_every_text_of_a_rule_is_in_chinese(rule: Path) -> None:
    left = [
        sentence
        for text in rule_texts(tomllib.loads(rule.read_text(encoding="utf-8")))
        for sentence in catalogue("zh").left(text)
    ]
    assert left == [], "add them to diagnose/report/languages/zh/rules.po"


def test_nearly_all_that_reports_say_is_in_chinese() -> None:
    left, whole = untranslated("zh", SAMPLES)
    assert whole > 300
    assert sum(left.values()) <= 0.01 * whole, left.most_common(20)


def test_a_page_in_chinese_says_so() -> None:
    with speaking("zh"):
        told = html_spoken(page(documents.sick(), {}))
    assert '<html lang="zh-CN">' in told and "该做什么" in told


def test_a_language_that_no_report_speaks_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIAGNOSE_LANGUAGE", "xx")
    assert cli.main(["rules"]) == 2
    assert "DIAGNOSE_LANGUAGE=xx" in capsys.readouterr().err


def test_the_command_line_speaks_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--language", "zh", "--out", str(tmp_path / "out"), str(SAMPLES[0])]) == 0
    said = capsys.readouterr()
    assert "用 worker 进程加载批次" in said.out + said.err
    assert "该做什么" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "Load batches in worker processes" in (tmp_path / "out" / "report.json").read_text(
        encoding="utf-8"
    )
    assert is_english()


# ---- cells of a terminal


def test_chinese_takes_two_cells() -> None:
    assert [cells(text) for text in ("abc", "前向", "a前")] == [3, 4, 3]
    assert padded("前向", 6) == "前向  "


def test_lines_break_between_chinese_and_not_within_words() -> None:
    assert wrapped("修复可省 3 ms", 8) == ["修复可省", "3 ms"]
    assert wrapped("修复，可省", 4) == ["修", "复，", "可省"]
    assert wrapped("plain words only", 11) == ["plain words", "only"]
    assert has_words("plain") and not has_words("12 ms `code`")
