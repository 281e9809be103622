"""Where a call of torch was made: by which lines of the script, and by which instructions below them."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Collection, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..places import Place, Places

_DISTRIBUTIONS = os.path.join("torch", "distributions", "")
_NORMAL_WITH_COVARIANCE = _DISTRIBUTIONS + "multivariate_normal.py"
_CHECKS = {"check", "_validate_sample"}  # functions there; and what Distribution.__init__ does
_SPECTRAL_NORM = tuple(
    os.path.join("torch", "nn", "utils", name) for name in ("parametrizations.py", "spectral_norm.py")
)
_FRAMES_OF_A_CALL = 8  # ours, torch.overrides' and the function's own, and some more
_LOADER, _OPTIMIZERS = os.path.join("utils", "data", "dataloader.py"), os.path.join("torch", "optim", "")


class Frame(NamedTuple):
    """A function of the user's that is at work, ``activation``: which call of it; and what it does."""

    activation: int
    code: int
    instruction: int
    place: Place


class Site(NamedTuple):
    """Where a call was made: by which instructions, from the innermost line of the user's on inwards; and the
    user's frames, innermost first. ``checks``: a distribution's arguments; ``of_covariance``: by a normal
    distribution with a matrix of covariances; ``of_spectral_norm``: by that of a layer's weights.
    """

    path: tuple[int, ...]
    frames: tuple[Frame, ...]
    checks: bool
    of_covariance: bool
    of_spectral_norm: bool

    @property
    def place(self) -> Place:
        return self.frames[0].place

    @property
    def around(self) -> frozenset[Place]:
        return frozenset(frame.place for frame in self.frames)

    @property
    def key(self) -> tuple[tuple[Any, ...], ...]:
        """The same for calls of one loop, and of one recursion at whatever depth."""
        return self.path, tuple(dict.fromkeys(self.way))

    @property
    def way(self) -> tuple[tuple[int, int], ...]:
        """By which instructions of the user's."""
        return tuple((frame.code, frame.instruction) for frame in self.frames)


class Activations:
    """Numbers the calls of functions that go on in a thread: asked at each call of torch, it tells those that
    still go on from new ones. It holds the frames until it is asked again, so that no other takes their place
    in memory.
    """

    def __init__(self) -> None:
        self._going_on: dict[FrameType, int] = {}
        self._count = itertools.count()

    def numbers(self, frames: Sequence[FrameType]) -> list[int]:
        self._going_on = {frame: self._number(frame) for frame in frames}
        return list(self._going_on.values())

    def _number(self, frame: FrameType) -> int:
        known = self._going_on.get(frame)
        return next(self._count) if known is None else known


def site_of_call(places: Places, asking: str, activations: Activations) -> Site | None:
    """Of the call that goes on outside of the file that asks. None for calls of the optimizer, of the loader
    and of nobody's.
    """
    frame: FrameType | None = _caller(asking)
    path: list[int] = []
    frames: list[FrameType] = []
    checks = of_covariance = of_spectral_norm = False
    while frame is not None:
        code = frame.f_code
        is_users = bool(places.user_file(code.co_filename))
        if not frames:
            path += (id(code), frame.f_lasti)
            checks = checks or _checks_arguments(code)
            of_covariance = of_covariance or code.co_filename.endswith(_NORMAL_WITH_COVARIANCE)
            of_spectral_norm = of_spectral_norm or _is_of_spectral_norm(code)
        if is_users:
            frames.append(frame)
        elif _OPTIMIZERS in code.co_filename or code.co_filename.endswith(_LOADER):
            return None
        frame = frame.f_back
    if not frames:
        return None
    numbered = zip(activations.numbers(frames), frames, strict=True)
    told = tuple(_told(places, activation, frame) for activation, frame in numbered)
    return Site(tuple(path), told, checks, of_covariance, of_spectral_norm)


def is_power_iteration(asking: str) -> bool:
    """Whether the call that goes on outside of the file that asks is one of spectral norm's, for weights."""
    frame = _caller(asking)
    for _ in range(_FRAMES_OF_A_CALL):
        if frame is None:
            return False
        if _is_of_spectral_norm(frame.f_code):
            return True
        frame = frame.f_back
    return False


def _is_of_spectral_norm(code: CodeType) -> bool:
    """Other ways to compute a layer's weight stand in the same file."""
    is_its_class = code.co_qualname.startswith(("_SpectralNorm.", "SpectralNorm."))
    return is_its_class and code.co_filename.endswith(_SPECTRAL_NORM)


def _told(places: Places, activation: int, frame: FrameType) -> Frame:
    code = frame.f_code
    place = Place(places.user_file(code.co_filename), frame.f_lineno or -1, code.co_name)
    return Frame(activation, id(code), frame.f_lasti, place)


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


def apart(site: Site, first: Site) -> tuple[Place, ...]:
    """The line where the ways to two calls of a step part, of the one that calls again. Where both come the
    same way, as in a loop, the lines on it, innermost first: the last is that of the innermost function that
    has been at work all along.
    """
    ways = list(zip(reversed(site.frames), reversed(first.frames), strict=False))
    for there, other in ways:
        if (there.code, there.instruction) != (other.code, other.instruction):
            return (there.place,)
    at_work = sum(there.activation == other.activation for there, other in ways)
    if not at_work:
        return (site.place,)
    return tuple(frame.place for frame in site.frames[: len(site.frames) - at_work + 1])


def outermost_alone(lines: Sequence[Place], others: Collection[Place]) -> Place:
    """Of the lines that lead to a call, the innermost first, the outermost that leads to no other calls (as
    ``others`` do), else the innermost.
    """
    return next((place for place in reversed(lines) if place not in others), lines[0])
