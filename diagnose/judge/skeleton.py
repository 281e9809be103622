"""The two files of a new rule, to be filled in: `python -m diagnose rules new ID`."""

from __future__ import annotations

import re
from pathlib import Path

from diagnose.errors import UsageError

ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")

RULE = '''\
id      = "{id}"
status  = "preview"
refines = "python"                      # a row of the ledger, a rule whose time this one explains better, or "step"
cause   = "TODO: a noun phrase, at most 5 words, that fits before 'takes 56 % of each step'"
symptom = "TODO: one sentence of at most 14 words: what happens, as the user sees it."
why     = """TODO: why that costs time, in short sentences."""
false_positives = "TODO: when it is fine, and which condition below keeps the rule quiet then."
references = ["TODO: the page of the official documentation"]

[events]                                # calls in the user's code that the rule is about, by what they call
calls = '^torch/serialization\\.py: save$' # TODO: a regular expression, or a list of them
meaning = "calls of `torch.save`"       # TODO: a noun phrase that fits after "Share of the step taken by"
# time = "python"                       # only the time in which Python runs; else all that the GPU waits for

[[when]]                                # all must hold; `python -m diagnose metrics` lists the metrics
metric = "{selector}_share"       # TODO: your selector's
op = ">="
value = 0.05
because = "noise"                       # a reason named in diagnose/judge/rules.py, or your own words

[[when]]
metric = "{selector}_steps_share" # TODO: your selector's
op = ">"
value = 0.5
because = "only work of most steps counts; one step may be chance"

[culprits]
selector = "{selector}"           # TODO: the events to blame; each selector gives <selector>_ms, _share and _count_per_step

[fix]
title = "TODO: what to do, as an instruction"
how   = "TODO: how, with `code`. A metric's name in braces is filled in; add `otherwise` for where it is unknown."
# call = "TODO"                         # the function whose call the fix changes, if there is one; `Optimizer` for any optimizer
# intervention = "TODO"                 # the automatic fix that `verify` can try: see docs/fixes.md
# arguments = {{ TODO = 2 }}            # for it: values, or the names of metrics
safety = "manual"                       # exact: same results; numerics: last digits change; manual: only the author can judge
before = """
TODO: a few lines as they are
"""
after = """
TODO: and as they should be
"""

[saving]
edit = "remove"                         # remove | quicken | shrink | unblock | retime | fuse | release | overlap | none: see docs/prediction.md
# ratio = 0.3                           # the share of that time that is left, best guess; with best and worst: between = [0.1, 0.6]
# because = "how you know what is left" # needed with a ratio
scope = "step"                          # step | average | component | hypothetical | information
'''

CASES = '''\
# TODO: put your own callee in place of torch.save.
# Timelines in text (synthetic; they pass through the real reader): lane, start and duration in µs, category, name, args as JSON.
# `calls`: start and duration in µs, the line of the script, what it calls (as `callees` in rank0/detail.calls.json).
# Needed: a case that fires, one that is quiet for each condition that is dropped and each threshold that is halved or doubled,
# and one that abstains if something can be missing. `python -m diagnose rules check FOLDER` says what is missing.

[[case]]
name = "TODO: 7 % of the step"
expect = "fires"
calls = """
100  70  41  torch/serialization.py: save
"""
timeline = """
main  0    1000  step  ProfilerStep#1
main  200  700   op    aten::mm
"""

[[case]]
name = "TODO: 4 % of the step"
expect = "quiet"
calls = """
100  40  41  torch/serialization.py: save
"""
timeline = """
main  0    1000  step  ProfilerStep#1
main  200  700   op    aten::mm
"""

[[case]]
name = "TODO: once in two steps"
expect = "quiet"
calls = """
100  300  41  torch/serialization.py: save
"""
timeline = """
main  0     1000  step  ProfilerStep#1
main  500   400   op    aten::mm
main  1000  1000  step  ProfilerStep#2
main  1500  400   op    aten::mm
"""

[[case]]
name = "TODO: twice in three steps"
expect = "fires"
calls = """
100   300  41  torch/serialization.py: save
1100  300  41  torch/serialization.py: save
"""
timeline = """
main  0     1000  step  ProfilerStep#1
main  500   400   op    aten::mm
main  1000  1000  step  ProfilerStep#2
main  1500  400   op    aten::mm
main  2000  1000  step  ProfilerStep#3
main  2500  400   op    aten::mm
"""

[[case]]
name = "TODO: what cannot be known"
expect = "abstains"
timeline = """
main  0    1000  step  ProfilerStep#1
main  200  700   op    aten::mm
"""
'''


def write_skeleton(rule_id: str, folder: Path) -> tuple[Path, Path]:
    """Write the rule's two files and return their paths.

    Raises UsageError for a bad id or one that is taken.
    """
    if not ID.fullmatch(rule_id):
        raise UsageError(
            f"{rule_id!r} is no rule id",
            do="name the failing state in words joined by hyphens: gradients-zeroed",
        )
    paths = folder / f"{rule_id}.toml", folder / f"{rule_id}.cases.toml"
    for path in paths:
        if path.exists():
            raise UsageError(f"{path} exists", do="choose another id, or edit the file")
    selector = f"{rule_id.replace('-', '_')}_calls"
    for path, skeleton in zip(paths, (RULE, CASES), strict=True):
        path.write_text(skeleton.format(id=rule_id, selector=selector), encoding="utf-8")
    return paths
