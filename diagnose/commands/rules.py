"""`python -m diagnose rules`: what is looked for. Heavy imports wait."""

from __future__ import annotations

import argparse
import difflib

from diagnose.commands.options import READS_NO_TRACE, WRITES_NOTHING, Parser
from diagnose.errors import EXIT_OK, UsageError

_USAGE = "python -m diagnose rules [ID | new ID]"
_DESCRIPTION = """\
List what is looked for, a rule a line; explain one; or start one of your own (in a source tree).
"""
_EPILOG = """\
examples:
  python -m diagnose rules
  python -m diagnose rules input-wait-no-workers
  python -m diagnose rules new hashing-in-loop

exit codes: 0 done, 2 wrong usage or no such rule
"""


def parser() -> Parser:
    parser = Parser("rules", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("words", metavar="ID", nargs="*", help="the rule to explain, or to start after `new`")
    parser.refuse("--out", WRITES_NOTHING)
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Say it on stdout."""
    print(_answer(options.words), flush=True)
    return EXIT_OK


def _answer(words: list[str]) -> str:
    from diagnose.judge.rules import load_rules
    from diagnose.measure.metrics import METRICS
    from diagnose.report import catalogue

    if words == ["new"]:
        raise UsageError(
            "rules new is given no ID", do="name the rule: python -m diagnose rules new hashing-in-loop"
        )
    if words[:1] == ["new"] and len(words) == 2:
        return _new_rule(words[1])
    if len(words) > 1:
        raise UsageError(
            f"too many arguments for rules: {' '.join(words)}", do="a script called rules is ./rules"
        )
    rules = load_rules()
    if not words:
        return catalogue.rule_list(rules.values())
    if words[0] not in rules:
        near = difflib.get_close_matches(words[0], rules, n=1)
        raise UsageError(
            f"there is no rule {words[0]}",
            do=f"did you mean {near[0]}?" if near else "`python -m diagnose rules` lists all",
        )
    return catalogue.rule_page(rules[words[0]], METRICS)


def _new_rule(rule_id: str) -> str:
    """The skeleton of a rule, written where a source tree keeps its rules."""
    from diagnose.judge.rules import rules_folder
    from diagnose.judge.skeleton import write_skeleton

    folder = rules_folder()
    if folder.name != "rules":
        raise UsageError(
            "rules are added in a source tree, not in an installed package",
            do="git clone the project; see CONTRIBUTING.md",
        )
    written = "\n".join(f"  {path}" for path in write_skeleton(rule_id, folder))
    return (
        f"written:\n{written}\nfill in every TODO; CONTRIBUTING.md shows how, `pytest tests/judge -k "
        f"{rule_id}` says what is missing"
    )
