"""Messages written out by hand, byte by byte, as the encoding's own documentation does it."""

from __future__ import annotations

import pytest

from diagnose.trace.wire import CutOff, Damaged, double, fields, signed, text


def read(message: bytes) -> list[tuple[int, int | bytes]]:
    return [
        (number, value if isinstance(value, int) else bytes(value))
        for number, value in fields(memoryview(message))
    ]


def test_numbers_texts_and_fixed_sizes() -> None:
    # field 1: the varint 150; field 2: "testing"; field 3: eight bytes; field 4: four bytes
    message = b"\x08\x96\x01" + b"\x12\x07testing" + b"\x19" + bytes(8) + b"\x25" + bytes(4)
    assert read(message) == [(1, 150), (2, b"testing"), (3, bytes(8)), (4, bytes(4))]


def test_a_negative_number_takes_ten_bytes() -> None:
    ((_, value),) = read(b"\x08" + b"\xff" * 9 + b"\x01")
    assert isinstance(value, int)
    assert signed(value) == -1
    assert signed(5) == 5


def test_doubles_and_texts() -> None:
    assert double(memoryview(b"\0\0\0\0\0\0\xf8\x3f")) == 1.5
    assert text(memoryview(b"a\xff")) == "a\ufffd"
    with pytest.raises(Damaged):
        double(memoryview(b"\0"))


@pytest.mark.parametrize(
    "message",
    [
        b"\x08" + b"\xff" * 20,  # a number that never ends
        b"\x08\x80",  # a number that is cut
        b"\x0b",  # a group begins
        b"\x0e",  # no kind at all
        b"\xff" * 11,
    ],
)
def test_what_is_no_message_is_damaged(message: bytes) -> None:
    with pytest.raises(Damaged):
        read(message)


def test_what_is_whole_before_a_cut_is_read_and_the_rest_is_handed_over() -> None:
    read_so_far = []
    with pytest.raises(CutOff) as cut:
        for field in fields(memoryview(b"\x08\x01\x12\xff\xff\xff\xff\x7fabc")):
            read_so_far.append(field)
    assert read_so_far == [(1, 1)]
    assert (cut.value.number, bytes(cut.value.rest)) == (2, b"abc")
