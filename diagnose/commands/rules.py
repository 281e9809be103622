"""`python -m diagnose rules`: what is looked for. Heavy imports wait."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from diagnose.commands.options import READS_NO_TRACE, WRITES_NOTHING, Parser, add_rules_option
from diagnose.errors import EXIT_FAILURE, EXIT_OK, UsageError

_USAGE = "python -m diagnose rules [ID | new ID [FOLDER] | check FOLDER]"
_DESCRIPTION = """\
List the rules, explain one, start your own, or check a folder of your own rules. The check is the one that
ours pass: all cases hold, every condition matters, and cases fix each threshold within a factor of two.
"""
_EPILOG = """\
examples:
  python -m diagnose rules
  python -m diagnose rules input-wait-no-workers
  python -m diagnose rules new hashing-in-loop my_rules
  python -m diagnose rules check my_rules
  python -m diagnose --rules my_rules train.py

exit codes: 0 done, 1 a rule does not pass, 2 wrong usage or unknown rule
"""


def parser() -> Parser:
    parser = Parser("rules", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("words", metavar="ID", nargs="*", help="the rule to explain, or to start after `new`")
    add_rules_option(parser)
    parser.refuse("--out", WRITES_NOTHING)
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Say it on stdout."""
    if options.words[:1] == ["check"] and len(options.words) <= 2:
        return _check(Path(options.words[1]) if len(options.words) == 2 else None)
    print(_answer(options.words), flush=True)
    return EXIT_OK


def _check(folder: Path | None) -> int:
    """What is wrong with each rule of the folder."""
    from diagnose.judge.gates import complaints
    from diagnose.judge.rules import load_rules, rules_folder

    if folder is None or not folder.is_dir():
        raise UsageError(f"rules check needs a folder{f', not {folder}' if folder else ''}", do=_USAGE)
    bundled = rules_folder()
    folders = [folder] if folder.resolve() == bundled.resolve() else [bundled, folder]
    own = [rule for rule in load_rules(*folders).values() if (folder / f"{rule.id}.toml").is_file()]
    if not own:
        raise UsageError(
            f"no rule lies in {folder}", do="python -m diagnose rules new hashing-in-loop FOLDER"
        )
    wrong = {rule.id: complaints(rule, folder) for rule in own}
    for rule_id, sentences in wrong.items():
        print(f"{rule_id}: {'passes' if not sentences else ''}".rstrip())
        print("".join(f"  {sentence}\n" for sentence in sentences), end="", flush=True)
    return EXIT_FAILURE if any(wrong.values()) else EXIT_OK


def _answer(words: list[str]) -> str:
    from diagnose.judge.rules import load_rules
    from diagnose.measure.metrics import METRICS
    from diagnose.report import catalogue

    if words == ["new"]:
        raise UsageError(
            "rules new is given no ID", do="name the rule: python -m diagnose rules new hashing-in-loop"
        )
    if words[:1] == ["new"] and len(words) in (2, 3):
        return _new_rule(words[1], Path(words[2]) if len(words) == 3 else None)
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


def _new_rule(rule_id: str, own: Path | None) -> str:
    """The skeleton of a rule, written into the user's folder, else where a source tree keeps its rules."""
    from diagnose.judge.rules import rules_folder
    from diagnose.judge.skeleton import write_skeleton

    folder = own or rules_folder()
    if own is None and folder.name != "rules":
        raise UsageError(
            "an installed package takes no rules",
            do=f"name a folder of your own: rules new {rule_id} FOLDER; see CONTRIBUTING.md",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = write_skeleton(rule_id, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to", saw=str(error)) from error
    written = "\n".join(f"  {path}" for path in paths)
    return (
        f"written:\n{written}\nfill in every TODO; `python -m diagnose rules check {folder}` says what is "
        "missing"
    )
