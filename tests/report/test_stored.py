"""Documents on disk: those of an earlier schema are read, and what is no document is refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnose.compare.comparison import compare
from diagnose.document.measurements import verification_in
from diagnose.document.stored import NotOurs, read_document, to_json
from diagnose.errors import DiagnoseError
from diagnose.report.markdown import markdown
from diagnose.report.page import fragment
from diagnose.trace.notes import Note

from . import documents

# attention/sick as version 0.1.0 wrote it, most of its findings and metrics left out
EARLIER = Path(__file__).parent / "stored" / "schema-1.json"


def test_a_report_of_the_first_schema_reads_as_one_of_this_schema() -> None:
    was = json.loads(EARLIER.read_text())
    document = read_document(EARLIER.read_bytes())
    assert (was["schema"], document.schema) == (1, 2)
    assert document.notes == [Note("", sentence) for sentence in was["notes"]] != []
    later = dict.fromkeys(("samples_per_step", "samples_per_s", "model_flop", "mfu", "mfu_format"))
    defaults = {"after_session": False, "page_faults_ms": 0.0}
    assert documents.as_read(document)["steps"] == was["steps"] | defaults | later
    assert read_document(to_json(document).encode()) == document
    assert was["notes"][0].replace("`", "")[:40] in markdown(document).replace("`", "")
    assert document.plan[0].fix in fragment(document)


def test_a_report_of_the_first_schema_is_compared_with_a_later_one() -> None:
    document = read_document(EARLIER.read_bytes())
    assert compare(document, document).verdict == "no_change"
    assert compare(document, documents.sick()).step is not None


def test_keys_that_early_reports_lack_have_defaults() -> None:
    was = json.loads(EARLIER.read_text())
    for key in ("ranks", "verification", "patch", "ledger_device"):
        del was[key]
    for key in ("recorded_by_us", "launchers", "launchers_here", "wall_s"):
        del was["run"][key]
    del was["steps"]["noise_ms"], was["ledger"][0]["noise_ms"], was["findings"][0]["innocent"]
    document = read_document(json.dumps(was).encode())
    assert (document.run.recorded_by_us, document.run.launchers, document.ranks) == (True, 1, None)


@pytest.mark.parametrize(
    "content", [b"[]", b"3", b'{"tool": 3}', b'{"schema": 1, "tool": {"name": "other"}}']
)
def test_json_of_other_programs_is_not_ours(content: bytes) -> None:
    with pytest.raises(NotOurs):
        read_document(content)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(number: str) -> None:
    content = to_json(documents.sick()).replace("12.3", number)
    with pytest.raises(DiagnoseError, match="damaged"):
        read_document(content.encode())


def test_a_damaged_verification_is_named() -> None:
    assert verification_in({}) is None
    with pytest.raises(DiagnoseError, match=r"verify\.json is damaged"):
        verification_in({"schema": 1, "tool": {"name": "diagnose", "version": ""}, "tried": [3]})
