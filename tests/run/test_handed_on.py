"""What whoever starts us hands to a process, the script gets as from plain Python: its open files and the
flags of the interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live
ROOT = Path(__file__).parents[2]


def diagnosed(folder: Path, program: str, *flags: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """`python FLAGS -m diagnose script.py` in `folder`, where the script holds `program`."""
    (folder / "script.py").write_text(program)
    command = [sys.executable, *flags, "-m", "diagnose", "--quiet", "--device", "cpu", "script.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, **options
    )


def test_files_that_a_shell_opened_are_open(tmp_path: Path) -> None:
    """As by `<(command)`, by `3<file`, and for make's job server."""
    reading, writing = os.pipe()
    os.write(writing, b"from the shell")
    os.close(writing)
    try:
        run = diagnosed(tmp_path, f"import os\nprint(os.read({reading}, 99))", pass_fds=(reading,))
    finally:
        os.close(reading)
    assert run.stdout == "b'from the shell'\n", run.stderr


def test_no_file_of_ours_is_open(tmp_path: Path) -> None:
    run = diagnosed(tmp_path, "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd'))))")
    plain = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == plain.stdout, run.stderr


@pytest.mark.parametrize(("flags", "shown"), [((), ""), (("-u",), "all of it")])
def test_what_is_printed_is_buffered_only_where_plain_python_would(
    tmp_path: Path, flags: tuple[str, ...], shown: str
) -> None:
    program = "import os\nprint('all of it', end='')\nos._exit(0)"
    assert diagnosed(tmp_path, program, *flags).stdout == shown


def test_an_isolated_interpreter_finds_neither_the_folder_of_the_script_nor_the_users_packages() -> None:
    asks = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom diagnose.run.launch import command\n"
    asks += "from diagnose.run.settings import Target\nprint(command(Target('train.py', False, ())))"
    run = subprocess.run([sys.executable, "-I", "-c", asks], capture_output=True, text=True, check=True)
    assert run.stdout == f"{[sys.executable, '-s', '-P', 'train.py']}\n"
