"""Notebook cells are the user's own code, and their text is kept."""

from __future__ import annotations

import linecache
import sys
from types import SimpleNamespace

import pytest

from diagnose.run.child.cells import cell_sources, is_cell
from diagnose.run.child.places import Places

KERNEL_CELL = "/tmp/ipykernel_4242/1234567890.py"
TERMINAL_CELL = "<ipython-input-3-0123456789ab>"


@pytest.fixture
def ipython(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """IPython's table of cells, as a notebook's kernel has it."""
    counts: dict[str, int] = {}
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map=counts))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return counts


@pytest.fixture
def no_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)


@pytest.mark.usefixtures("no_ipython")
@pytest.mark.parametrize(
    "name", [KERNEL_CELL, "/private/tmp/ipykernel_7/12.py", TERMINAL_CELL, "<python-input-0>"]
)
def test_cells_are_known_by_their_names(name: str) -> None:
    assert is_cell(name)
    assert Places("/home/me/job", "/home/me/job").user_file(name) == name


@pytest.mark.usefixtures("no_ipython")
@pytest.mark.parametrize(
    "name",
    ["<string>", "<stdin>", "<frozen importlib>", "<__array_function__ internals>", "/tmp/train.py", ""],
)
def test_other_code_is_no_cell(name: str) -> None:
    assert not is_cell(name)
    assert Places("/home/me/job", "/home/me/job").user_file(name) == ""


def test_a_cell_with_a_name_of_its_own_is_known_by_ipythons_table(ipython: dict[str, int]) -> None:
    assert not is_cell("/somewhere/else.py")
    ipython["/somewhere/else.py"] = 5
    assert is_cell("/somewhere/else.py")
    assert cell_sources(["/somewhere/else.py"])["/somewhere/else.py"]["title"] == "cell 5"


def test_a_cell_has_the_number_of_its_last_execution_and_its_text(
    ipython: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ipython[KERNEL_CELL] = 7
    monkeypatch.setitem(linecache.cache, KERNEL_CELL, (10, None, ["a = 1\n", "b = a\n"], KERNEL_CELL))
    assert cell_sources([KERNEL_CELL]) == {KERNEL_CELL: {"title": "cell 7", "text": "a = 1\nb = a\n"}}


@pytest.mark.usefixtures("no_ipython")
def test_without_ipython_only_some_cells_have_a_number() -> None:
    titles = [
        source["title"]
        for source in cell_sources([KERNEL_CELL, TERMINAL_CELL, "/tmp/ipykernel_1/2.py"]).values()
    ]
    assert titles == ["unnumbered cell 1", "cell 3", "unnumbered cell 2"]


def test_a_failing_ipython_costs_only_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert cell_sources([KERNEL_CELL])[KERNEL_CELL]["title"] == "unnumbered cell 1"


def test_the_cells_met_are_kept_in_order_and_once() -> None:
    places = Places("/home/me/job", "/home/me/job")
    for name in (TERMINAL_CELL, "/home/me/job/train.py", KERNEL_CELL, TERMINAL_CELL):
        places.user_file(name)
    assert places.cells == [TERMINAL_CELL, KERNEL_CELL]
