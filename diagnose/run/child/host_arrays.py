"""Arrays of numpy's that were there when Python read a result, and have the same numbers still: what is made
of them depends on nothing that was read since. So it is with the observations of several environments, whose
actions are chosen one after the other.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

import torch

from .source.frame_values import Unknown, variables_of

_FRAMES_AT_MOST, _ITEMS_AT_MOST, _ARRAYS_AT_MOST = 20, 256, 1024
_BYTES_AT_MOST, _ALL_BYTES_AT_MOST = 1 << 18, 1 << 24
_LOOKS_AT_MOST = 4  # a step
_NUMBERS = "biufc"  # kinds of numpy's: dates give no buffer to sum up
_LIBRARIES = {"diagnose", "torch", "numpy"}


class _Held(NamedTuple):
    """An array, which is kept: its memory becomes no other one's."""

    array: Any
    checksum: int

    def holds(self, address: int) -> bool:
        """And nobody has written to it."""
        begin = _address(self.array)
        is_inside = begin is not None and begin <= address < begin + self.array.nbytes
        return is_inside and zlib.crc32(self.array) == self.checksum


class HostArrays:
    """`look` before what Python reads is added to what it has read; `new_step` lets all go."""

    def __init__(self) -> None:
        self._looks: list[tuple[list[_Held], int]] = []  # and bits of what had been read before

    def new_step(self) -> None:
        self._looks = []

    def look(self, frame: FrameType, bits: int) -> None:
        """At what the script's functions hold. ``bits``: of what Python has read so far."""
        if "numpy" not in sys.modules or len(self._looks) >= _LOOKS_AT_MOST:
            return
        held, bytes_left = [], _ALL_BYTES_AT_MOST
        for array in {id(array): array for array in islice(_arrays(frame), _ARRAYS_AT_MOST)}.values():
            bytes_left -= array.nbytes
            if bytes_left < 0:
                break
            held.append(_Held(array, zlib.crc32(array)))
        self._looks.append((held, bits))

    def bits_of(self, source: Any) -> int | None:
        """Of a tensor that no call has made, or of what one is made from: what had been read before its
        numbers were there. None where that is not known.
        """
        address = _address(source) if self._looks else None
        if address is None:
            return None
        return next((bits for held, bits in self._looks if any(one.holds(address) for one in held)), None)


def _address(source: Any) -> int | None:
    """Of its first number; None for what is neither an array nor a tensor in this process's memory."""
    if isinstance(source, torch.Tensor):
        with torch._C.DisableTorchFunction():
            is_plain = type(source) is torch.Tensor and source.layout == torch.strided
            return source.data_ptr() if is_plain and source.device.type == "cpu" else None
    numpy = sys.modules.get("numpy")
    if numpy is None or type(source) is not numpy.ndarray:
        return None
    return int(source.__array_interface__["data"][0])


def _arrays(frame: FrameType | None) -> Iterator[Any]:
    """Those that variables of the script's functions hold, by themselves, in a list or as an attribute."""
    for _ in range(_FRAMES_AT_MOST):
        if frame is None:
            return
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _LIBRARIES:
            try:
                variables = variables_of(frame)
            except Unknown:
                variables = {}
            for value in variables.values():
                for held in (value, *islice(_attributes(value).values(), _ITEMS_AT_MOST)):
                    yield from _in_value(held)
        frame = frame.f_back


def _attributes(value: Any) -> dict[str, Any]:
    """Of an object, without running anything of its class."""
    if isinstance(value, (type, torch.Tensor, torch.nn.Module)):
        return {}
    try:
        found = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if type(found) is dict and "__spec__" not in found else {}  # no module


def _in_value(value: Any) -> Iterator[Any]:
    items, array = [value], sys.modules["numpy"].ndarray
    if type(value) in (list, tuple):
        items = list(value[:_ITEMS_AT_MOST])
    elif type(value) is dict:
        items = list(islice(value.values(), _ITEMS_AT_MOST))
    for item in items:
        is_plain = type(item) is array and item.flags.c_contiguous and item.dtype.kind in _NUMBERS
        if is_plain and 0 < item.nbytes <= _BYTES_AT_MOST:
            yield item
