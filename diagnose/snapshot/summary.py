"""What a snapshot tells: the ledger of bytes at the peak, who holds them, what grows, what lies idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec
import numpy as np

from diagnose.snapshot.idle import Idle, idle_by_size
from diagnose.snapshot.reading import Segment, Snapshot
from diagnose.snapshot.replay import Allocation, Replay, devices
from diagnose.snapshot.stacks import TITLES, Origin

MOST_LINES = 12
_QUARTERS = 4
_GROWS_AT_LEAST = 0.02  # of the peak: what grows less is not worth a word
_IDLE_AT_LEAST = 0.2  # of what is reserved
_MUCH = 0.25  # of it: a part that something is to be done about


class Row(msgspec.Struct):
    """A part of what is reserved at the peak; all rows together are that."""

    row: str
    title: str
    bytes: int
    share: float


class Holder(msgspec.Struct):
    """A line of the script and what is allocated from it at the peak. ``line`` −1: no line is known."""

    file: str
    line: int
    function: str
    part: str
    bytes: int
    count: int


class Growing(msgspec.Struct):
    """A line whose allocations stay: bytes that it holds after each quarter of the recording."""

    file: str
    line: int
    function: str
    quarters: list[int]


class Failure(msgspec.Struct):
    """Out of memory, as the allocator told it; bytes. ``idle``: reserved, and in no allocation then."""

    wanted: int
    device_free: int | None
    idle: int
    allocated: int
    where: str


class DeviceMemory(msgspec.Struct):
    """``allocated``, ``reserved``: at the peak. ``peak_s``: seconds from the first event; None where not
    known. ``idle``: reserved at the end and not in use, ``largest_idle``: the largest piece of that,
    ``idle_by_size``: where it lies.
    """

    device: int
    allocated: int
    reserved: int
    peak_s: float | None
    recorded_s: float | None
    events: int
    ledger: list[Row]
    holders: list[Holder]
    growing: list[Growing]
    idle: int
    largest_idle: int
    idle_by_size: list[Idle]
    out_of_memory: Failure | None


class Summary(msgspec.Struct):
    """Of a snapshot; sizes are bytes."""

    file: str
    devices: list[DeviceMemory]
    schema: int = 1


def summary(snapshot: Snapshot, file: str) -> Summary:
    """Devices by what they hold, most first."""
    return Summary(file, [_of_device(Replay(snapshot, device), device) for device in devices(snapshot)])


def _of_device(replay: Replay, device: int) -> DeviceMemory:
    allocated, reserved = int(replay.curve[replay.peak + 1]), int(replay.reserved[replay.peak + 1])
    reserved = max(reserved, allocated)
    idle = idle_by_size(replay.segments)
    return DeviceMemory(
        device,
        allocated,
        reserved,
        replay.seconds(replay.peak),
        replay.seconds(len(replay.events) - 1),
        len(replay.events),
        _ledger(replay.at_peak, reserved),
        _holders(replay.at_peak),
        _growing(replay, allocated),
        sum(of_size.pieces_bytes + of_size.whole_bytes for of_size in idle),
        _largest_idle(replay.segments),
        idle,
        _failure(replay),
    )


def _largest_idle(segments: Iterable[Segment]) -> int:
    blocks = (block for segment in segments for block in segment.blocks)
    return max((block.size for block in blocks if block.state == "inactive"), default=0)


def _ledger(live: Iterable[Allocation], reserved: int) -> list[Row]:
    by_part: dict[str, int] = defaultdict(int)
    rounding = 0
    for one in live:
        by_part[one.origin.part] += one.size
        rounding += one.taken - one.size
    sizes = {str(part): (title, by_part[part]) for part, title in TITLES.items()}
    sizes["rounding"] = ("Rounded up or left on by the allocator", rounding)
    idle = reserved - sum(size for _, size in sizes.values())
    sizes["idle"] = ("Reserved by the allocator, in no tensor", idle)
    rows = [Row(row, title, size, size / max(reserved, 1)) for row, (title, size) in sizes.items() if size]
    return sorted(rows, key=lambda row: -row.bytes)


def _holders(live: Iterable[Allocation]) -> list[Holder]:
    held: dict[Origin, list[int]] = defaultdict(list)
    for one in live:
        held[one.origin].append(one.size)
    found = [
        Holder(origin.file, origin.line, origin.function, origin.part, sum(sizes), len(sizes))
        for origin, sizes in held.items()
    ]
    return sorted(found, key=lambda holder: -holder.bytes)[:MOST_LINES]


def _growing(replay: Replay, peak: int) -> list[Growing]:
    """Lines that hold more after each quarter of the recording than after the one before."""
    count = len(replay.events)
    borders = np.array([count * quarter // _QUARTERS for quarter in range(1, _QUARTERS + 1)])
    held: dict[tuple[str, int, str], np.ndarray] = {}
    for one in replay.allocations:
        if one.begin >= 0 and one.origin.line > 0:
            place = (one.origin.file, one.origin.line, one.origin.function)
            inside = (one.begin < borders) & (borders <= one.end)
            held[place] = held.get(place, np.zeros(_QUARTERS, np.int64)) + inside * one.size
    found = [
        Growing(*place, sizes.tolist())
        for place, sizes in held.items()
        if sizes[0] and (np.diff(sizes) > 0).all() and sizes[-1] - sizes[0] >= _GROWS_AT_LEAST * peak
    ]
    return sorted(found, key=lambda line: line.quarters[0] - line.quarters[-1])


def _failure(replay: Replay) -> Failure | None:
    failed = replay.out_of_memory
    if failed is None:
        return None
    allocated, reserved = int(replay.curve[failed.number + 1]), int(replay.reserved[failed.number + 1])
    origin = failed.origin
    where = f"{origin.file}:{origin.line}" if origin.line > 0 else ""
    return Failure(failed.size, failed.device_free, max(0, reserved - allocated), allocated, where)


def advice(memory: DeviceMemory) -> list[str]:
    """What to do, by what fills it, the most first. No bytes are promised that were not counted."""
    found = [(row.share, _FOR_PARTS[row.row]) for row in memory.ledger if row.row in _FOR_PARTS]
    found = [(share, text) for share, text in found if share >= _MUCH]
    if (pieces := _pieces(memory)) and not any(idle.serves == "any" for idle in memory.idle_by_size):
        found.append((pieces / memory.reserved, _FOR_PIECES))
    for growing in memory.growing[:1]:
        grown = growing.quarters[-1] - growing.quarters[0]
        found.append((grown / memory.reserved, f"{growing.file}:{growing.line} {_FOR_GROWTH}"))
    return [text for _, text in sorted(found, reverse=True)]


def _pieces(memory: DeviceMemory) -> int:
    """Bytes between tensors that would help, were they joined; 0 where they are not worth a word."""
    failed, pieces = memory.out_of_memory, sum(idle.pieces_bytes for idle in memory.idle_by_size)
    if failed:
        return failed.idle if failed.idle >= failed.wanted else 0
    return pieces if pieces >= _IDLE_AT_LEAST * memory.reserved else 0


_FOR_PARTS = {
    "forward": "Activations fill it: torch.utils.checkpoint around blocks, autocast to 16 bits, or a smaller "
    "batch with accumulated gradients.",
    "optimizer": "The optimizer's state fills it: an 8-bit optimizer, or FSDP or ZeRO over several GPUs.",
    "backward": "Gradients fill it: zero_grad(set_to_none=True) before the forward, not only before the "
    "backward.",
}
_FOR_PIECES = (
    "Reserved memory lies idle in pieces: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, set before the "
    "script starts, lets them be joined."
)
_FOR_GROWTH = "makes what stays: keep no tensors over steps, or `.detach()`, `.item()` or move them first."
