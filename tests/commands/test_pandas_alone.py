"""pandas without pyarrow, in processes of our own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")


def said(program: str) -> str:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return ended.stdout.strip()


BEGIN = "import sys; from diagnose.commands.pandas_alone import import_pandas_alone; import_pandas_alone(); "


def test_pandas_is_imported_without_it_and_others_still_find_it() -> None:
    told = said(
        f"{BEGIN}import pandas; without = 'pyarrow' not in sys.modules; import pyarrow; "
        "print(without, pyarrow.__version__ != '', pandas.DataFrame({'a': ['x', 'y']}).a.tolist())"
    )
    assert told == "True True ['x', 'y']"


def test_the_command_line_does_so(tmp_path: object) -> None:
    told = said(
        "import runpy, sys; sys.argv = ['diagnose', 'metrics']; import builtins\n"
        "try: runpy.run_module('diagnose', run_name='__main__', alter_sys=True)\n"
        "except SystemExit: pass\n"
        "print('pandas' in sys.modules, 'pyarrow' in sys.modules)"
    )
    assert told.endswith("True False")


def test_pandas_that_is_there_already_stays_as_it_is() -> None:
    assert said(f"import pandas; {BEGIN}import pandas as again, pyarrow; print(again is pandas)") == "True"
