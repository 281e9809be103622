"""A cell of a notebook, recorded:

    %load_ext diagnose

    %%diagnose --steps 8
    for batch in loader:
        train_on(batch)

Its output ends with what `diagnose.record` shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.core.error import UsageError as WrongMagic
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from diagnose.errors import UsageError
from diagnose.in_process import Recorder, block_settings

_CELL = "<ipython-input-0-diagnose>"  # what opens the block is no file


@magic_arguments("%%diagnose")
@argument("--out", type=Path, help="a new folder for the report (default diagnosis/<time>)")
@argument("--steps", type=int, help="steps of the timeline (default 8, more if short)")
@argument("--plain-steps", type=int, help="steps timed without profiler (default 2.5 × --steps)")
@argument("--no-stacks", action="store_true", help="skip the slow phase that finds source lines")
@argument("--device", default="auto", help="what to record: auto, cpu, cuda (default auto)")
def diagnose(line: str, cell: str) -> None:
    """Run the cell, record some of its steps, show what slows them. A step ends with the optimizer's."""
    from IPython import get_ipython

    options = parse_argstring(diagnose, line)
    try:
        settings = block_settings(
            options.steps, options.plain_steps, stacks=not options.no_stacks, device=options.device
        )
        recorder = Recorder(options.out, settings, _CELL)
        with recorder:
            _run(f"# %%diagnose {line}\n{cell}", get_ipython())  # the comment keeps the lines' numbers
    except UsageError as error:
        raise WrongMagic(str(error)) from error
    except _CellFailed:
        pass
    display(recorder)


def _run(cell: str, shell: Any) -> None:
    """Run it as the cell that it is: IPython has counted on already. Raises _CellFailed."""
    following = shell.execution_count
    shell.execution_count = max(1, len(shell.user_ns.get("In", ())) - 1)
    try:
        ran = shell.run_cell(cell, store_history=False)
    finally:
        shell.execution_count = following
    if not ran.success:
        raise _CellFailed


class _CellFailed(Exception):
    """IPython has shown its error; the block ends as one that failed."""


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext diagnose`"""
    shell.register_magic_function(diagnose, "cell")
