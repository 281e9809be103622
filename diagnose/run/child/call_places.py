"""Where a call of torch was made: by which lines of the script, and by which instructions below them."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

from .places import Place, Places

_DISTRIBUTIONS = os.path.join("torch", "distributions", "")
_NORMAL_WITH_COVARIANCE = _DISTRIBUTIONS + "multivariate_normal.py"
_CHECKS = {"check", "_validate_sample"}  # functions there; and what Distribution.__init__ does
_LOADER, _OPTIMIZERS = os.path.join("utils", "data", "dataloader.py"), os.path.join("torch", "optim", "")


class Site(NamedTuple):
    """Where a call was made: by which instructions, from the innermost line of the user's on inwards; and the
    user's frames as (code, instruction, line), innermost first. ``checks``: a distribution's arguments;
    ``of_covariance``: by a normal distribution with a matrix of covariances.
    """

    path: tuple[int, ...]
    frames: tuple[tuple[int, int, Place], ...]
    checks: bool
    of_covariance: bool

    @property
    def place(self) -> Place:
        return self.frames[0][2]

    @property
    def around(self) -> frozenset[Place]:
        return frozenset(place for _, _, place in self.frames)

    @property
    def way(self) -> tuple[tuple[int, int], ...]:
        """By which instructions of the user's."""
        return tuple((code, instruction) for code, instruction, _ in self.frames)


def site_of_call(places: Places, asking: str) -> Site | None:
    """Of the call that goes on outside of the file that asks. None for calls of the optimizer, of the loader
    and of nobody's.
    """
    frame: FrameType | None = _caller(asking)
    path: list[int] = []
    frames: list[tuple[int, int, Place]] = []
    checks = of_covariance = False
    while frame is not None:
        code = frame.f_code
        file = places.user_file(code.co_filename)
        if not frames:
            path += (id(code), frame.f_lasti)
            checks = checks or _checks_arguments(code)
            of_covariance = of_covariance or code.co_filename.endswith(_NORMAL_WITH_COVARIANCE)
        if file:
            frames.append((id(code), frame.f_lasti, Place(file, frame.f_lineno or -1, code.co_name)))
        elif _OPTIMIZERS in code.co_filename or code.co_filename.endswith(_LOADER):
            return None
        frame = frame.f_back
    return Site(tuple(path), tuple(frames), checks, of_covariance) if frames else None


def _caller(asking: str) -> FrameType | None:
    """The innermost frame outside of that file and this one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in (asking, __file__):
        frame = frame.f_back
    return frame


def _checks_arguments(code: CodeType) -> bool:
    """Whether that is a distribution's function that looks whether values are allowed."""
    if _DISTRIBUTIONS not in code.co_filename:
        return False
    of_base = code.co_name == "__init__" and code.co_filename.endswith("distribution.py")
    return of_base or code.co_name in _CHECKS


def apart(site: Site, first: Site) -> Place:
    """The line where the ways to two calls part, of the one that calls again; the innermost where both come
    the same way, as in a loop.
    """
    ways = zip(reversed(site.frames), reversed(first.frames), strict=False)
    return next((there[2] for there, other in ways if there[:2] != other[:2]), site.place)
