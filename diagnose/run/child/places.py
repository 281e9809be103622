"""Which source lines are the user's own, and the nearest of them to a call."""

from __future__ import annotations

import glob
import os
import re
import sys
import sysconfig
from types import CodeType, FrameType
from typing import NamedTuple

from .cells import is_cell

LIBRARY_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
# of the whole package
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep

# How any call of torch is made, as against its helpers that a script calls as it calls a library; and
# ourselves.
_NO_LIBRARY = re.compile(
    r"torch\.(?!nn\.utils\.|amp\.|distributed\.|utils\.(?!_contextlib\.|_device\.))|"
    + re.escape(__name__.partition(".")[0])
    + r"\."
)


class Place(NamedTuple):
    """A line of source; line -1 and empty text when there is no user frame."""

    file: str
    line: int
    function: str


NOWHERE = Place("", -1, "")


class Places:
    """Decides by file: below the script's folder or the working directory and not part of any
    library there, or a notebook's cell.
    """

    def __init__(self, script_folder: str, cwd: str) -> None:
        self._cwd = cwd
        self._roots = _with_separator(
            {script_folder, os.path.realpath(script_folder), cwd, os.path.realpath(cwd)}
        )
        self._libraries = _with_separator(_library_folders(self._roots))
        self.cells: list[str] = []  # those met so far
        self._files: dict[str, str] = {}  # co_filename -> absolute path, empty if not the user's
        self._functions: dict[
            CodeType, str
        ] = {}  # -> module:function of a library, empty if it does not count

    def user_file(self, filename: str) -> str:
        """The absolute path of `filename` if it is the user's own (of a cell its name as it is), else
        empty.
        """
        known = self._files.get(filename)
        if known is None:
            known = self._files[filename] = self._classify(filename)
        return known

    def nearest(self, frame: FrameType | None) -> Place:
        """The innermost frame of the user's own code, from `frame` outwards."""
        files = self._files
        while frame is not None:
            code = frame.f_code
            file = files.get(code.co_filename)
            if file is None:
                file = self.user_file(code.co_filename)
            if file:
                return Place(file, frame.f_lineno or -1, code.co_name)
            frame = frame.f_back
        return NOWHERE

    def nearest_via(self, frame: FrameType | None) -> tuple[Place, str]:
        """The same, with the library's own function on the way there, the innermost, as
        `torchmetrics.metric:compute`; empty if none.
        """
        files, functions = self._files, self._functions
        via = ""
        while frame is not None:
            code = frame.f_code
            file = files.get(code.co_filename)
            if file is None:
                file = self.user_file(code.co_filename)
            if file:
                return Place(file, frame.f_lineno or -1, code.co_name), via
            if not via:
                known = functions.get(code)
                if known is None:
                    known = functions[code] = _library_function(frame)
                via = known
            frame = frame.f_back
        return NOWHERE, via

    def _classify(self, filename: str) -> str:
        if is_cell(filename):
            self.cells.append(filename)
            return filename
        if not filename or filename[0] == "<":
            return ""
        path = os.path.normpath(os.path.join(self._cwd, filename))
        if path.startswith(OWN_FOLDER) or path.startswith(self._libraries):
            return ""
        for root in self._roots:
            if path.startswith(root) and not any(
                folder in path[len(root) - 1 :] for folder in LIBRARY_FOLDERS
            ):
                return path
        return ""


def library_path(filename: str) -> str:
    """`torch/serialization.py` for a file of an installed package or of the
    standard library; any other as it is.
    """
    for folder in LIBRARY_FOLDERS:
        _, found, rest = filename.rpartition(folder)
        if found:
            return rest
    return filename.removeprefix(_STANDARD_LIBRARY)


def _library_function(frame: FrameType) -> str:
    module = str(frame.f_globals.get("__name__", ""))
    return "" if _NO_LIBRARY.match(module + ".") else f"{module}:{frame.f_code.co_name}"


def outside_methods(frame: FrameType | None, owner: object, places: Places) -> Place:
    """The innermost line of the user's own that is in no method of the owner's class: of a method that calls
    the object itself, what calls it.
    """
    while frame is not None:
        name, code = frame.f_code.co_name, frame.f_code
        methods = (vars(kind).get(name) for kind in type(owner).__mro__)
        if places.user_file(code.co_filename) and not any(
            getattr(method, "__code__", None) is code for method in methods
        ):
            return places.nearest(frame)
        frame = frame.f_back
    return NOWHERE


def _with_separator(folders: set[str]) -> tuple[str, ...]:
    return tuple(sorted((folder.rstrip(os.sep) + os.sep for folder in folders), key=len, reverse=True))


def _library_folders(roots: tuple[str, ...]) -> set[str]:
    """Folders of installed packages; one that contains the script itself is no library here."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {
        sys.prefix,
        sys.base_prefix,
    }
    folders |= {
        entry for entry in sys.path if entry and glob.glob(os.path.join(glob.escape(entry), "*.dist-info"))
    }
    folders = {os.path.abspath(folder) for folder in folders}
    return {
        folder
        for folder in folders
        if not any(root.startswith(folder.rstrip(os.sep) + os.sep) for root in roots)
    }
