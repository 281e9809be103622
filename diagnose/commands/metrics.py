"""`python -m diagnose metrics`: what is measured. Heavy imports wait."""

from __future__ import annotations

import argparse

from diagnose.commands.options import READS_NO_TRACE, WRITES_NOTHING, Parser, add_rules_option
from diagnose.errors import EXIT_OK

_USAGE = "python -m diagnose metrics"
_DESCRIPTION = """\
List the metrics, which rules compare with their thresholds.
"""
_EPILOG = """\
exit codes: 0 done, 2 wrong usage
"""


def parser() -> Parser:
    parser = Parser("metrics", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add_rules_option(parser)
    parser.refuse("--out", WRITES_NOTHING)
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Say it on stdout."""
    from diagnose.judge.rules import load_rules
    from diagnose.measure.metrics import METRICS
    from diagnose.report.catalogue import metric_list

    load_rules()  # which bring metrics of their own
    print(metric_list(METRICS.values()), flush=True)
    return EXIT_OK
