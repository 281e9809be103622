"""Python's marshal format, as far as a profile of cProfile uses it, read without trust.

`marshal.loads` may crash the interpreter on a file made up for that. Source of the format: Python/marshal.c.
"""

from __future__ import annotations

import struct
from typing import Any

_IS_REFERRED_TO = 0x80  # FLAG_REF: later values may be this one
_DEEPEST = 8  # a profile's values lie five deep
_MOST_DIGITS = 6  # of 15 bits each
_CONSTANTS = {ord("N"): None, ord("T"): True, ord("F"): False}
_TEXTS = {  # by their letters: bytes that hold the length, and the encoding
    ord("z"): (1, "ascii"),
    ord("Z"): (1, "ascii"),
    ord("a"): (4, "ascii"),
    ord("A"): (4, "ascii"),
    ord("u"): (4, "utf-8"),
    ord("t"): (4, "utf-8"),
}
_END = object()


class Malformed(ValueError):
    """Not the values of a profile."""


def loads(content: bytes) -> Any:
    """Numbers, texts, tuples and dicts. Raises Malformed for all else."""
    try:
        return _Reader(content).value()
    except (struct.error, UnicodeDecodeError, TypeError) as error:  # TypeError: a dict as a key
        raise Malformed(str(error)) from error


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0
        self._known: list[Any] = []

    def value(self, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise Malformed("values nested too deeply")
        code = self._number("<B")
        letter = code & ~_IS_REFERRED_TO
        place = len(self._known)
        if code & _IS_REFERRED_TO:
            self._known.append(_END)  # a container comes before what is in it
        found = self._of(letter, depth)
        if code & _IS_REFERRED_TO:
            self._known[place] = found
        return found

    def _of(self, letter: int, depth: int) -> Any:
        if letter in _CONSTANTS:
            return _CONSTANTS[letter]
        if letter in _TEXTS:
            length, encoding = _TEXTS[letter]
            return self._bytes(self._number("<B" if length == 1 else "<i")).decode(encoding, "replace")
        match chr(letter):
            case "i":
                return self._number("<i")
            case "g":
                return self._number("<d")
            case "l":
                return self._long()
            case "r":
                return self._referred(self._number("<i"))
            case ")":
                return self._tuple(self._number("<B"), depth)
            case "(":
                return self._tuple(self._number("<i"), depth)
            case "{":
                return self._dict(depth)
            case "0":
                return _END
        raise Malformed(f"a value of kind {chr(letter)!r} at byte {self._at - 1:,}")

    def _number(self, layout: str) -> Any:
        length = struct.calcsize(layout)
        return struct.unpack(layout, self._bytes(length))[0]

    def _bytes(self, length: int) -> bytes:
        if not 0 <= length <= len(self._content) - self._at:
            raise Malformed(f"it is cut at byte {self._at:,}")
        self._at += length
        return self._content[self._at - length : self._at]

    def _long(self) -> int:
        count = self._number("<i")
        if abs(count) > _MOST_DIGITS:
            raise Malformed("a number too large to be a count")
        digits = [self._number("<H") for _ in range(abs(count))]
        found: int = sum(digit << (15 * place) for place, digit in enumerate(digits))
        return -found if count < 0 else found

    def _referred(self, number: int) -> Any:
        if not 0 <= number < len(self._known) or self._known[number] is _END:
            raise Malformed("a reference to nothing")
        return self._known[number]

    def _tuple(self, count: int, depth: int) -> tuple[Any, ...]:
        if not 0 <= count <= len(self._content) - self._at:
            raise Malformed(f"it is cut at byte {self._at:,}")
        return tuple(self.value(depth + 1) for _ in range(count))

    def _dict(self, depth: int) -> dict[Any, Any]:
        found = {}
        while (key := self.value(depth + 1)) is not _END:
            if isinstance(key, tuple) and any(isinstance(part, tuple) for part in key):
                raise Malformed("a key that holds containers")  # by references it may take 2^n steps to hash
            found[key] = self.value(depth + 1)
        return found
