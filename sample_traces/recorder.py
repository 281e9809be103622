"""`python -m diagnose` as far as the recording; what is made of it can be made anywhere.

    python -m sample_traces.recorder --out RUN [--judged] [options of `python -m
    diagnose`] script.py [its arguments]

--judged, which comes first, leaves report.json as well, and none of the other reports.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from diagnose.commands.launching import RECORDING
from diagnose.commands.main import parse
from diagnose.document.queries import recorded_nothing
from diagnose.document.stored import to_json
from diagnose.errors import EXIT_FAILURE, EXIT_SCRIPT_FAILED, DiagnoseError
from diagnose.pipeline import analysis_of
from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target

JUDGED = "--judged"


def main(argv: Sequence[str]) -> int:
    """Exit codes as those of `python -m diagnose`."""
    judged = argv[:1] == [JUDGED]
    options = parse(argv[judged:])
    settings = Settings(
        **{name: getattr(options, name) for name in RECORDING if getattr(options, name) is not None}
    )
    outcome = launch(Target(options.target, options.module, tuple(options.args)), settings, options.out)
    if outcome.ended in ("crashed", "killed"):
        return EXIT_SCRIPT_FAILED
    if not list(options.out.glob("rank*/steps.json")):
        print("nothing was recorded", file=sys.stderr)
        return EXIT_FAILURE
    if judged:
        document = analysis_of(options.out).document
        (options.out / "report.json").write_text(to_json(document), encoding="utf-8")
        return EXIT_FAILURE if recorded_nothing(document) else 0
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except DiagnoseError as error:
        sys.exit(f"diagnose: {error}")
