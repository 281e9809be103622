"""The questions every renderer asks the result document."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from diagnose.errors import EXIT_FINDINGS, EXIT_OK
from diagnose.judge.terms import SEVERITIES, Group, Severity, State
from diagnose.run.child.steps.step_clock import StepClock

if TYPE_CHECKING:
    from diagnose.document.model import CallSite, Culprit, Document, Finding, PlanRow, Scalar

WARM_UP = "warm-up-dominates"  # the rule

PYTHON = "python"


GOOD_PART = 0.25  # of a finding's time, from which a line stands for it
MOST_OF_IT = 0.5  # from which the lines of one function do


def place(finding: Finding) -> Culprit | CallSite | None:
    """The line to look at: the costliest to blame, if it takes a good part of the finding's time or its
    function most of it, else the one call to change; None if there is no such line.
    """
    first = next(iter(finding.culprits), None)
    whole_ms = finding.ms_per_step or 0.0
    if first is not None and (not first.ms_per_step or first.ms_per_step >= GOOD_PART * whole_ms):
        return first
    if first is not None and _of_function_ms(finding, first) >= MOST_OF_IT * whole_ms:
        return first
    return _one_call(finding)


def line_to_change(finding: Finding) -> Culprit | CallSite | None:
    """The one call whose arguments the fix changes, else the line to look at."""
    return _one_call(finding) or place(finding)


def lines_to_see(finding: Finding) -> list[Culprit | CallSite]:
    """The line to change, then the one to look at where that is another; empty where none is known."""
    lines = [line for line in (line_to_change(finding), place(finding)) if line is not None]
    return list({(line.file, line.line): line for line in reversed(lines)}.values())[::-1]


def _one_call(finding: Finding) -> CallSite | None:
    sites = finding.fix.call_sites
    return sites[0] if len(sites) == 1 else None


def _of_function_ms(finding: Finding, culprit: Culprit) -> float:
    """What the lines take that stand in the same function as this one."""
    return sum(
        other.ms_per_step or 0.0
        for other in finding.culprits
        if (other.file, other.function) == (culprit.file, culprit.function)
    )


def in_group(document: Document, group: Group) -> list[Finding]:
    """The findings that fire in a group (`plan`, `alternative`, `minor`,
    `hypothetical`, `information`), best first.
    """
    return [finding for finding in document.findings if finding.group == group]


def in_state(document: Document, state: State) -> list[Finding]:
    return [finding for finding in document.findings if finding.state == state]


def lacking(document: Document) -> dict[tuple[str, str], list[str]]:
    """The rules that abstain, by what they lack and what would record it (an option or
    a command; empty if nothing would).
    """
    lacked: dict[tuple[str, str], list[str]] = {}
    for finding in in_state(document, "abstains"):
        if lack := finding.abstains_for:
            lacked.setdefault((lack.reason, lack.option), []).append(finding.rule)
    return lacked


def planned(document: Document) -> list[Finding]:
    """The findings worth acting on, in the plan's order."""
    by_rule = {finding.rule: finding for finding in document.findings}
    return [by_rule[row.rule] for row in document.plan]


def is_severe_without_ms(finding: Finding) -> bool:
    """It comes before all that is to be gained: the run is worth nothing, or on another device."""
    return finding.severity == "high" and finding.share is None


def alternatives(finding: Finding, document: Document) -> list[Finding]:
    """Other ways to gain what a finding of the plan gains, best first."""
    return [other for other in in_group(document, "alternative") if other.alternative_to == finding.rule]


def ways_instead(finding: Finding, document: Document) -> list[Finding]:
    """The best alternative at each line to change: several at one mostly say the same in other words."""
    best: dict[tuple[str, int] | None, Finding] = {}
    for other in alternatives(finding, document):
        line = line_to_change(other)
        best.setdefault((line.file, line.line) if line else None, other)
    return list(best.values())


def step_ms(document: Document) -> float | None:
    """The typical step: plain where it was measured, else as recorded."""
    steps = document.steps
    if steps.typical_ms:
        return steps.typical_ms
    best = steps.plain_ms or steps.timeline_ms
    return best.median if best else None


def ledger_ms(document: Document) -> float | None:
    """The step that every share is of, ms: what the ledger adds up to."""
    return sum(row.ms_per_step for row in document.ledger) or step_ms(document)


def is_whole_trace(document: Document) -> bool:
    """Whether nothing marks the steps of a trace, so that all of it counts as one."""
    return document.steps.step_source == "whole trace"


def each_step(document: Document) -> str:
    """What shares are of: `each step`, or `the recording` where nothing tells its steps apart."""
    return "the recording" if is_whole_trace(document) else "each step"


def the_step(document: Document) -> str:
    """The same where one is spoken of: `the step`, or `the recording`."""
    return "the recording" if is_whole_trace(document) else "the step"


def whole_word(document: Document) -> str:
    """What the ledger adds up to, as a heading."""
    return "Recording" if is_whole_trace(document) else "Step"


def counted(what: str, document: Document) -> str:
    """The heading of a column of counts: `Calls per step`, of a recording without steps `Calls`."""
    return what if is_whole_trace(document) else f"{what} per step"


def time_column(document: Document) -> str:
    """The heading of a column of times: `Per step`, of a recording without steps `Time`."""
    return "Time" if is_whole_trace(document) else "Per step"


def whose_time(document: Document) -> str:
    """`a step's`, of a recording in which nothing marks steps `the recording's`."""
    return "the recording's" if is_whole_trace(document) else "a step's"


def of_recorded(document: Document) -> str:
    """What was recorded, where it is not what other steps are like."""
    if is_whole_trace(document):
        return "the recording"
    return "the recorded step" if document.steps.complete == 1 else "the recorded steps"


def warming_up(document: Document) -> float | None:
    """The share of first calls and compilation, which later steps do not have; None where that is little."""
    fires = any(one.rule == WARM_UP and one.state == "fires" for one in document.findings)
    part = metric(document, "first_calls_share")
    return float(part) if fires and isinstance(part, (int, float)) else None


def plan_row(finding: Finding, document: Document) -> PlanRow | None:
    """The finding's row of the plan; None if it is not planned."""
    return next((row for row in document.plan if row.rule == finding.rule), None)


def is_complete(document: Document) -> bool:
    """Whether at least one whole step was recorded, without which nothing can be judged."""
    return bool(document.ledger)


def saw_no_step(document: Document) -> bool:
    """Whether a run of ours came to its end without a step, so that nothing
    could be recorded, judged or compared.
    """
    steps = document.steps
    return (
        recorded_by_us(document)
        and steps.clock == StepClock.NONE
        and not steps.phases
        and not is_complete(document)
    )


def recorded_nothing(document: Document) -> bool:
    """The same, or it ended in the warm-up, which is thrown away."""
    kept = sum(number for name, number in document.steps.phases.items() if name != "warmup")
    return recorded_by_us(document) and not kept and not is_complete(document)


def recorded_by_us(document: Document) -> bool:
    """False for a trace that somebody else recorded."""
    return document.run.recorded_by_us


def recorded_inside(document: Document) -> bool:
    """True for a block of a program that recorded itself (`diagnose.record`), a notebook's for example."""
    return document.run.in_process


def launchers(document: Document) -> int:
    """How many of us torchrun started, one a rank; 1 without it."""
    return document.run.launchers


def on_one_machine(document: Document) -> bool:
    """Whether all that torchrun started was started on the machine that recorded the run."""
    return _launchers_here(document) == launchers(document)


def _launchers_here(document: Document) -> int:
    here = document.run.launchers_here
    return launchers(document) if here is None else here


def run_command(document: Document, *options: str) -> str:
    """What to type to record the script (again); empty where no command starts it."""
    run = document.run
    if recorded_inside(document) or not recorded_by_us(document) or not has_script(document):
        return ""
    module = ["-m"] if run.module else []
    return shell_line([*_starter(document), "-m", "diagnose", *options, *module, run.target, *run.argv[1:]])


def start_command(document: Document) -> str:
    """What to type to start the script without us; empty where no command starts it."""
    run = document.run
    if recorded_inside(document) or not recorded_by_us(document) or not has_script(document):
        return ""
    return shell_line([*_starter(document), *(["-m"] if run.module else []), run.target, *run.argv[1:]])


def _starter(document: Document) -> list[str]:
    """What starts the ranks; of several machines as if each had as many as the one that recorded
    the run, to be typed on all of them.
    """
    ranks, here, python = launchers(document), _launchers_here(document), python_of(document)
    if ranks < 2:
        return [python]
    machines = ["--nnodes", str(-(-ranks // here))] if here < ranks else []
    torchrun = ["torchrun"] if python == PYTHON else [python, "-m", "torch.distributed.run"]
    return [*torchrun, *machines, "--nproc-per-node", str(here)]


def python_of(document: Document) -> str:
    """What starts the Python that has diagnose, as to be typed."""
    return document.written.python if document.written else PYTHON


def has_script(document: Document) -> bool:
    """Whether the script was there when the document was written; True where nobody looked."""
    return document.written is None or document.written.has_script


def run_folder(document: Document) -> str:
    """The run folder, as to be typed where the script ran; empty where none is known."""
    run = document.written.run if document.written else None
    return _as_typed(run, document) if run else ""


def report_folder(document: Document) -> str:
    """The folder of the reports, as to be typed where the script ran; empty where none is known."""
    return _as_typed(document.written.folder, document) if document.written else ""


def _as_typed(folder: str, document: Document) -> str:
    """Relative where it lies below the folder that the script ran in."""
    path, cwd = PurePath(folder), document.run.cwd
    return str(path.relative_to(cwd)) if cwd and path.is_relative_to(cwd) else folder


def shell_line(words: Iterable[str]) -> str:
    """The words as one line that a shell reads back, without anything that a terminal obeys."""
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    escaped = word.encode("unicode_escape").decode("ascii").replace("'", r"\'")
    return f"$'{escaped}'"  # bash's and zsh's way to write what cannot be shown


def severest(document: Document) -> Severity | None:
    """The highest severity in the plan; None if nothing is planned."""
    return max(
        (one.severity for one in planned(document) if one.severity), key=SEVERITIES.index, default=None
    )


def is_at_least(severity: Severity | None, least: Severity) -> bool:
    return severity is not None and SEVERITIES.index(severity) >= SEVERITIES.index(least)


def automatic(document: Document) -> list[Finding]:
    """The findings whose fix `verify` can make by itself: of the plan, and what stands behind fixes of
    the plan that only people can make.

    The latter gain nothing more once such a fix is made, but until then they may gain as much.
    """
    known = [finding for finding in planned(document) if _is_automatic(finding)]
    if len(known) == len(planned(document)):
        return known
    aside = [*in_group(document, "alternative"), *in_group(document, "minor")]
    return known + [finding for finding in aside if _is_automatic(finding) and _shows(finding, document)]


def _is_automatic(finding: Finding) -> bool:
    """Without arguments, the numbers that the fix needs were not recorded."""
    return bool(finding.fix.intervention) and finding.fix.arguments is not None


def _shows(finding: Finding, document: Document) -> bool:
    """Whether what the fix gains by itself is more than noise, and no other finding tells the same better."""
    predicted = finding.saving.predicted_ms
    return (
        not finding.because_of and predicted is not None and predicted.low > (document.steps.noise_ms or 0.0)
    )


def metric(document: Document, name: str) -> Scalar:
    """What was measured; None where nothing was, or no finite number."""
    found = document.metrics.get(name)
    return found.known if found else None


def framework(document: Document) -> str:
    """Whose recording it is: torch, tensorflow or jax."""
    return str(metric(document, "framework") or "torch")


def exit_code(document: Document, fail_on: Severity | None) -> int:
    """What `--fail-on` asks for, a severity or None."""
    return EXIT_FINDINGS if fail_on and is_at_least(severest(document), fail_on) else EXIT_OK
