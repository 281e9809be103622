"""Which fixes are tried."""

from pathlib import Path

import pytest

from diagnose.document.model import Finding
from diagnose.errors import UsageError
from diagnose.verify.candidates import by_hand, candidates
from tests.report import documents
from tests.report.documents import changed


def finding(
    rule: str = "gc-pauses",
    intervention: str = "gc_freeze",
    arguments: dict | None = {},  # noqa: B006
    safety: str = "exact",
) -> Finding:
    fix = {"title": "T", "intervention": intervention, "arguments": arguments, "safety": safety}
    sites = [{"file": "train.py", "line": 3, "source": ""}]
    return changed(documents.finding(rule), fix={**fix, "call_sites": sites})


def chosen(*findings: Finding, allowed: tuple[str, ...] = (), only: tuple[str, ...] = ()):
    return candidates(findings, Path("/job"), allowed, only)


def test_what_has_an_automatic_form_is_tried_where_it_is_made() -> None:
    one = chosen(finding())[0]
    assert one.why_not == ""
    assert one.spec == {"name": "gc_freeze", "arguments": {}, "sites": [["/job/train.py", 3]]}


@pytest.mark.parametrize("intervention", ["inference_mode", "non_blocking"])
def test_a_fix_of_the_blamed_line_is_tried_where_its_patch_would_be(intervention: str) -> None:
    given = finding(intervention=intervention)
    blamed, unknown = documents.culprit(7, "", 1.0, 1.0), documents.culprit(0, "", 1.0, 1.0)
    blamed.file, unknown.file = "model.py", ""
    given.culprits = [blamed, unknown]
    given.fix.call_sites = []
    assert chosen(given)[0].sites == (("/job/model.py", 7),)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (finding(intervention=""), "needs a manual change"),
        (finding(arguments=None), "numbers it needs were not recorded; not measured"),
        (finding(safety="numerics"), "--allow numerics"),
    ],
)
def test_what_is_not_tried_says_why(given: Finding, why: str) -> None:
    assert why in chosen(given)[0].why_not


def test_numerics_are_tried_when_allowed() -> None:
    assert chosen(finding(safety="numerics"), allowed=("numerics",))[0].why_not == ""


def test_only_one_of_the_plan() -> None:
    assert [one.rule for one in chosen(finding("a"), finding("b"), only=("b",))] == ["b"]
    with pytest.raises(UsageError, match="c is not in the plan"):
        chosen(finding("a"), only=("c",))


def test_a_number_can_be_searched_for() -> None:
    one = by_hand("dataloader:num_workers=2,persistent_workers=True")
    assert one.tuned is not None and one.tuned.name == "num_workers"
    assert one.with_number(4).arguments == {"num_workers": 4, "persistent_workers": True}
    assert by_hand("gc_freeze").tuned is None


def test_a_fix_with_a_default_needs_no_argument() -> None:
    assert by_hand("autocast").arguments == {}


@pytest.mark.parametrize(
    "given", ["nothing", "dataloader:num_workers", "dataloader:=2", "dataloader:workers=2", "threads"]
)
def test_a_fix_that_cannot_be_read_is_a_wrong_usage(given: str) -> None:
    with pytest.raises(UsageError):
        by_hand(given)
