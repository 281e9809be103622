"""`python -m diagnose train.prof`: a report on what another profiler recorded. Heavy imports wait."""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnose.commands.outputs import out_folder, writing
from diagnose.errors import EXIT_OK, UsageError

_NO_FINDINGS = {"fail_on": "--fail-on", "track": "--track"}


def report_profile(options: argparse.Namespace) -> int:
    """Print the summary, write the report; with `--format json` also print the result."""
    from diagnose.document.stored import to_json, write_text
    from diagnose.profiles.counters import CountersSummary
    from diagnose.profiles.summarised import read_summary
    from diagnose.report.console import stderr_console
    from diagnose.report.counters import counters_page, print_counters
    from diagnose.report.profile import print_profile, profile_page

    refuse_what_needs_findings(options)
    found = read_summary(Path(options.target), options.memory_limit)
    console = stderr_console(quiet=options.quiet)
    with out_folder(options.out) as out, writing(out):
        write_text(to_json(found, indent=1), out / "profile.json")
        if isinstance(found, CountersSummary):
            write_text(counters_page(found), out / "profile.md")
            print_counters(found, out, console)
        else:
            write_text(profile_page(found), out / "profile.md")
            print_profile(found, out, console)
    if options.json:
        print(to_json(found), flush=True)
    return EXIT_OK


def refuse_what_needs_findings(options: argparse.Namespace) -> None:
    """Raises UsageError for options that nothing but the report of a trace can serve."""
    given = [flag for name, flag in _NO_FINDINGS.items() if getattr(options, name, None)]
    if options.format not in ("text", "json"):
        given.append(f"--format {options.format}")
    if given:
        raise UsageError(
            f"{options.target} is no trace: {' '.join(given)} needs the report of a trace", do="leave it out"
        )
