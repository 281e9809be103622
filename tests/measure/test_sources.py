"""How the user's files and cells are named, and the text of their lines."""

from __future__ import annotations

from pathlib import Path

from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources

CELL = "/tmp/ipykernel_4242/1234567890.py"


def sources(folder: Path) -> Sources:
    facts = {"sources": {CELL: {"title": "cell 3", "text": "for batch in loader:\n    train(batch)\n"}}}
    return Sources(Recording(source=folder / "run", timeline=None, run={"cwd": str(folder)}, facts=facts))


def test_a_cell_is_shown_by_its_title_and_its_text_comes_from_the_recording(tmp_path: Path) -> None:
    cells = sources(tmp_path)
    assert cells.shown(CELL) == "cell 3"
    assert [cells.line(CELL, number) for number in (-1, 0, 1, 2, 3)] == [
        "",
        "",
        "for batch in loader:",
        "train(batch)",
        "",
    ]


def test_a_file_that_bears_a_cells_title_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "cell 3").write_text("something else\n")
    assert sources(tmp_path).path(CELL) is None


def test_files_are_shown_relative_to_the_working_directory(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\n")
    files = sources(tmp_path)
    assert (files.shown(str(script)), files.path(str(script)), files.line(str(script), 1)) == (
        "train.py",
        script,
        "import torch",
    )
