"""The server side of the tab, asked as TensorBoard asks it. What is below a log folder may be anything."""

from __future__ import annotations

import gzip
import json
import logging
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.plugins.base_plugin import TBContext
from werkzeug.test import Client, TestResponse

from diagnose.compare import comparison as comparing
from diagnose.document.stored import to_json
from diagnose.report import comparison, page
from diagnose.report.tab import folder, plugin, runs
from diagnose.report.tab.plugin import DiagnosePlugin
from tests.report import documents


def write_run(at: Path, document: Any = None) -> Path:
    """A run's folder as diagnose leaves it."""
    (at / "rank0").mkdir(parents=True)
    (at / "report.json").write_text(to_json(documents.sick() if document is None else document))
    (at / "report.md").write_text("# Diagnosis")
    (at / "run.json").write_text("{}")
    (at / "picture.json.gz").write_bytes(gzip.compress(b'{"schema": 1}'))
    (at / "rank0" / "timeline.pt.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents": []}'))
    return at


class Tab:
    """The plugin's routes on a log folder."""

    def __init__(self, logdir: Path | str) -> None:
        self.plugin = DiagnosePlugin(TBContext(logdir=str(logdir)))
        self._clients = {route: Client(app) for route, app in self.plugin.get_plugin_apps().items()}

    def get(self, route: str, **parameters: str) -> TestResponse:
        return self._clients[route].get(route, query_string=parameters, buffered=True)

    def rows(self) -> dict[str, dict[str, Any]]:
        """The listed runs by key, once the search has ended."""
        answer = {"searching": True}
        while answer["searching"]:
            answer = self.get("/runs").json
        return {row["run"]: row for row in answer["runs"]}


@pytest.fixture(autouse=True)
def _walk_at_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "FRESH_S", 0.0)
    monkeypatch.setattr(plugin, "PATIENCE_S", 10.0)


# ---- which runs there are


def test_all_runs_below_the_log_folder_are_listed_with_what_tells_them_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "monday")
    write_run(tmp_path / "more" / "diagnosis" / "tuesday", documents.healthy())
    rows = Tab(tmp_path).rows()
    assert rows.keys() == {"monday", "more/diagnosis/tuesday"}
    told = {
        name: rows["monday"][name]
        for name in ("name", "target", "headline", "badge", "step", "device", "problem", "trace", "picture")
    }
    assert told == {
        "name": "monday",
        "target": "train.py",
        "headline": documents.sick().headline,
        "badge": "",
        "step": "12.3 ms",
        "device": "cpu",
        "problem": "",
        "trace": True,
        "picture": True,
    }


def test_the_latest_run_comes_first_whenever_its_report_was_written(tmp_path: Path) -> None:
    for name, when in (
        ("a", "2026-11-21T07:00:00+00:00"),
        ("b", "2026-11-21T09:00:00+00:00"),
        ("c", "2026-11-21T08:00:00+00:00"),
    ):
        (write_run(tmp_path / name) / "run.json").write_text(json.dumps({"started_at": when}))
    rows = Tab(tmp_path).rows()
    assert list(rows) == ["b", "c", "a"]
    assert rows["a"]["when"] == 1795244400


@pytest.mark.parametrize(
    "run",
    [
        "",
        "[]",
        '{"started_at": 3}',
        '{"started_at": "yesterday"}',
        '{"started_at": "0001-01-01T00:00:00+00:00"}',
    ],
)
def test_a_run_json_that_tells_no_time_does_no_harm(tmp_path: Path, run: str) -> None:
    (write_run(tmp_path / "a") / "run.json").write_text(run)
    assert 0 <= Tab(tmp_path).rows()["a"]["when"] < 2**33


def test_of_a_trace_the_time_of_the_report_counts(tmp_path: Path) -> None:
    for name, when in (("a", 2000), ("b", 3000), ("c", 1000)):
        os.utime(write_run(tmp_path / name) / "report.json", (when, when))
    assert list(Tab(tmp_path).rows()) == ["b", "a", "c"]


@pytest.mark.parametrize("logdir", ["run", "run/tb"])
def test_a_runs_own_folder_and_its_tb_folder_show_that_run(tmp_path: Path, logdir: str) -> None:
    (write_run(tmp_path / "run") / "tb").mkdir()
    assert Tab(tmp_path / logdir).rows().keys() == {"run"}


def test_a_run_that_ends_while_the_tab_is_open_is_listed_the_next_time(tmp_path: Path) -> None:
    write_run(tmp_path / "first")
    tab = Tab(tmp_path)
    assert tab.rows().keys() == {"first"}
    write_run(tmp_path / "second")
    assert tab.rows().keys() == {"first", "second"}


def test_a_report_written_again_is_read_again(tmp_path: Path) -> None:
    run, tab = write_run(tmp_path / "run"), Tab(tmp_path)
    assert tab.rows()["run"]["target"] == "train.py"
    document = documents.sick()
    document.run.target = "evaluate.py"
    (run / "report.json").write_text(to_json(document))
    assert tab.rows()["run"]["target"] == "evaluate.py"


def test_a_picture_written_after_its_report_is_noticed(tmp_path: Path) -> None:
    run, tab = write_run(tmp_path / "run"), Tab(tmp_path)
    picture = run / "picture.json.gz"
    picture.rename(run / "later")
    assert tab.rows()["run"]["picture"] is False
    (run / "later").rename(picture)
    assert tab.rows()["run"]["picture"] is True


def test_a_folder_of_links_to_runs_shows_each_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "elsewhere")
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("before", "same"):
        (logs / name).symlink_to(run)
    (logs / "circle").symlink_to(logs)
    (logs / "itself").symlink_to(logs / "itself")
    assert len(Tab(logs).rows()) == 1


@pytest.mark.parametrize("logdir", ["", "missing", "gs://bucket/logs"])
def test_without_a_log_folder_the_tab_is_inactive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logdir: str
) -> None:
    monkeypatch.chdir(tmp_path)
    tab = Tab(logdir)
    assert not tab.plugin.is_active()
    assert tab.rows() == {}


def test_the_tab_is_active_where_there_is_a_run(tmp_path: Path) -> None:
    tab = Tab(tmp_path)
    assert not tab.plugin.is_active()
    write_run(tmp_path / "run")
    assert tab.plugin.is_active()


def test_a_report_of_another_program_is_none_of_ours(tmp_path: Path) -> None:
    write_run(tmp_path / "other", {"summary": "7 passed"})
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "report.json").write_text("{")
    assert Tab(tmp_path).rows() == {}


# ---- large and slow folders


def test_the_search_ends_at_a_number_of_entries_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_ENTRIES", 50)
    write_run(tmp_path / "zz")  # times are names: what sorts last is newest and looked at first
    for number in range(30):
        (tmp_path / f"{number:02}").mkdir()
        (tmp_path / f"{number:02}" / "events").touch()
    tab = Tab(tmp_path)
    assert tab.rows().keys() == {"zz"}
    assert tab.get("/runs").json["cut"]


def test_thousands_of_folders_are_looked_through(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number:04}").mkdir()
    write_run(tmp_path / "0000" / "run")
    tab = Tab(tmp_path)
    assert tab.rows().keys() == {"0000/run"}
    assert not tab.get("/runs").json["cut"]


def test_only_so_many_runs_are_listed_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_RUNS", 2)
    for name in ("1", "2", "3"):
        write_run(tmp_path / name)
    tab = Tab(tmp_path)
    assert tab.rows().keys() == {"2", "3"}
    assert tab.get("/runs").json["cut"]


def test_a_run_far_below_the_log_folder_is_not_looked_for(tmp_path: Path) -> None:
    write_run(tmp_path / "1/2/3/4")
    write_run(tmp_path / "a/b/c/d/e")
    assert Tab(tmp_path).rows().keys() == {"1/2/3/4"}


def test_nobody_waits_for_a_slow_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "run")
    monkeypatch.setattr(plugin, "PATIENCE_S", 0.0)
    monkeypatch.setattr(runs, "FRESH_S", 60.0)
    monkeypatch.setattr(runs._Walk, "_inside", _slowly(runs._Walk._inside))
    tab = Tab(tmp_path)
    assert not tab.plugin.is_active()  # not known yet
    tab.rows()
    assert tab.plugin.is_active()


def _slowly(inside: Any) -> Any:
    def slow(walk: Any, at: Path) -> Any:
        time.sleep(0.2)
        return inside(walk, at)

    return slow


# ---- a run's report


def test_the_report_is_rendered_from_the_document_and_never_read_as_html(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "fragment", lambda document: f"<p>{document.run.target}</p>")
    (write_run(tmp_path / "run") / "report.html").write_text("<script>alert(1)</script>")
    answer = Tab(tmp_path).get("/fragment", run="run")
    assert (answer.text, answer.mimetype) == ("<p>train.py</p>", "text/html")
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_the_picture_comes_as_json(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    assert Tab(tmp_path).get("/picture", run="run").json == {"schema": 1}


def test_two_runs_are_compared_under_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    monkeypatch.setattr(comparing, "compare", lambda a, b, names: asked.update(a=a, b=b, names=names) or {})
    monkeypatch.setattr(comparison, "comparison_html", lambda _: "<table>")
    write_run(tmp_path / "before")
    write_run(tmp_path / "after", documents.healthy())
    assert Tab(tmp_path).get("/compare", a="before", b="after").text == "<table>"
    assert (asked["a"].headline, asked["b"].headline) == (
        documents.sick().headline,
        documents.healthy().headline,
    )
    assert asked["names"] == ("before", "after")


@pytest.mark.parametrize("route", ["/fragment", "/picture", "/trace", "/compare"])
@pytest.mark.parametrize("name", ["", "other", "..", "../run", "run/../run", "/etc", "run/rank0", "run\x00"])
def test_only_runs_that_were_found_can_be_named(tmp_path: Path, route: str, name: str) -> None:
    write_run(tmp_path / "logs" / "run")
    write_run(tmp_path / "run")
    answer = Tab(tmp_path / "logs").get(route, run=name, a="run", b=name)
    assert (answer.status_code, answer.text) == (404, "No run of that name is in the log folder now.")


# ---- the trace


def test_the_trace_is_a_download_named_after_the_run(tmp_path: Path) -> None:
    write_run(tmp_path / "more" / "run 1")
    answer = Tab(tmp_path).get("/trace", run="more/run 1")
    assert json.loads(gzip.decompress(answer.data)) == {"traceEvents": []}
    assert answer.headers["Content-Disposition"] == 'attachment; filename="more-run-1.trace.json.gz"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Encoding" not in answer.headers


def test_the_trace_with_our_findings_in_it_is_preferred(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "annotated.trace.json.gz").write_bytes(b"annotated")
    assert Tab(tmp_path).get("/trace", run="run").data == b"annotated"


def test_a_lone_traces_copy_is_found_too(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "rank0" / "timeline.pt.trace.json.gz").unlink()
    (run / "tb" / "trace").mkdir(parents=True)
    (run / "tb" / "trace" / "rank0.pt.trace.json").write_text("{}")
    answer = Tab(tmp_path).get("/trace", run="run")
    assert (answer.data, answer.headers["Content-Disposition"]) == (
        b"{}",
        'attachment; filename="run.trace.json"',
    )


def test_a_link_out_of_the_runs_folder_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    run = write_run(tmp_path / "logs" / "run")
    for name in ("rank0/timeline.pt.trace.json.gz", "picture.json.gz"):
        (run / name).unlink()
        (run / name).symlink_to(secret)
    tab = Tab(tmp_path / "logs")
    assert tab.rows()["run"]["trace"] is False
    for route in ("/trace", "/picture"):
        answer = tab.get(route, run="run")
        assert answer.status_code == 422
        assert "secret" not in answer.text


def test_a_pipe_in_place_of_a_report_blocks_nobody(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "report.json").unlink()
    os.mkfifo(run / "report.json")
    assert "cannot be read" in Tab(tmp_path).rows()["run"]["problem"]


# ---- damaged and hostile folders


def _of_format_7() -> dict[str, Any]:
    return documents.as_read(documents.sick()) | {"schema": 7, "tool": {"name": "diagnose", "version": "9.0"}}


def _without_findings() -> dict[str, Any]:
    document = documents.as_read(documents.sick())
    del document["findings"]
    return document


DAMAGED = {
    "": "is damaged",
    "{": "is damaged",
    "[" * 100_000: "is damaged",
    "\x00\xff": "is damaged",
    to_json(_of_format_7()): "has format 7 (written by diagnose 9.0); this version reads formats 1 to 2",
    to_json(_without_findings()): "is damaged, or of another version",
    to_json(
        documents.as_read(documents.sick()) | {"steps": {"plain_ms": 3}}
    ): "is damaged, or of another version",
    to_json(
        documents.as_read(documents.sick()) | {"key_averages": {"rows": 3}}
    ): "is damaged, or of another version",
}


@pytest.mark.parametrize(("content", "said"), DAMAGED.items(), ids=range(len(DAMAGED)))
def test_a_report_that_cannot_be_shown_is_listed_with_a_sentence(
    tmp_path: Path, content: str, said: str
) -> None:
    write_run(tmp_path / "good")
    (write_run(tmp_path / "bad") / "report.json").write_text(content)
    tab = Tab(tmp_path)
    rows = tab.rows()
    assert rows["good"]["problem"] == ""
    assert said in rows["bad"]["problem"]
    assert f"`python -m diagnose {tmp_path / 'bad'}` writes it again." in rows["bad"]["problem"]
    for answer in (
        tab.get("/fragment", run="bad"),
        tab.get("/compare", a="good", b="bad"),
        tab.get("/compare", a="bad", b="good"),
    ):
        assert (answer.status_code, answer.mimetype) == (422, "text/plain")
        assert said in answer.text


def test_a_report_of_an_earlier_schema_is_shown(tmp_path: Path) -> None:
    earlier = Path(documents.__file__).parent / "stored" / "schema-1.json"
    (write_run(tmp_path / "run") / "report.json").write_bytes(earlier.read_bytes())
    tab = Tab(tmp_path)
    assert tab.rows()["run"]["problem"] == ""
    assert tab.get("/fragment", run="run").status_code == 200


def test_no_command_is_told_where_there_is_no_recording_to_read_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "report.json").write_text("{")
    (run / "run.json").unlink()
    problem = Tab(tmp_path).rows()["run"]["problem"]
    assert problem.startswith("report.json is damaged (")
    assert problem.endswith(").")


def test_a_report_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "LARGEST_BYTES", 100)
    write_run(tmp_path / "run")
    assert "too large" in Tab(tmp_path).rows()["run"]["problem"]


def test_a_failure_of_our_own_is_a_sentence_and_a_traceback_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_: Any) -> str:
        raise KeyError("unexpected")

    monkeypatch.setattr(page, "fragment", failing)
    monkeypatch.setattr(logging.getLogger("tensorboard"), "propagate", True)
    write_run(tmp_path / "run")
    answer = Tab(tmp_path).get("/fragment", run="run")
    assert (answer.status_code, answer.mimetype) == (500, "text/plain")
    assert answer.text.startswith("diagnose itself failed: KeyError.")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"{}")[:-5], gzip.compress(bytes(100_000_000))], ids=range(4)
)
def test_a_damaged_picture_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (write_run(tmp_path / "run") / "picture.json.gz").write_bytes(content)
    answer = Tab(tmp_path).get("/picture", run="run")
    assert (answer.status_code, "picture.json.gz is damaged" in answer.text) == (422, True)


HOSTILE = [
    "<script>alert(1)</script>",
    'a"b\nSet-Cookie: x=1',
    "…\u202egnp",
    "per%2e%2e cent%",
    "&run=x#y",
    os.fsdecode(b"caf\xe9"),
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_run_of_any_name_can_be_listed_asked_for_and_downloaded(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / name)
    tab = Tab(tmp_path)
    [(key, row)] = tab.rows().items()
    assert key.isascii()
    assert row["name"].isprintable()
    assert tab.get("/picture", run=key).status_code == 200
    named = tab.get("/trace", run=key).headers["Content-Disposition"]
    assert set(named.removeprefix('attachment; filename="').removesuffix('"')) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
    )


# ---- what the tab is made of


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        ("/index.js", "text/javascript"),
        ("/page.js", "text/javascript"),
        ("/tab.css", "text/css"),
        ("/page.css", "text/css"),
    ],
)
def test_scripts_and_styles_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str, kind: str
) -> None:
    monkeypatch.setattr(
        page, "assets", lambda: {"page.js": b"export function start() {}", "page.css": b"body {}"}
    )
    answer = Tab(tmp_path).get(route)
    assert (answer.status_code, answer.mimetype) == (200, kind)
    assert answer.text


def test_tensorboard_is_told_the_tabs_name_and_module() -> None:
    metadata = DiagnosePlugin(SimpleNamespace(logdir=None)).frontend_metadata()
    assert (metadata.tab_name, metadata.es_module_path) == ("Diagnose", "/index.js")
