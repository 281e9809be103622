"""Pictures of steps, small enough to know where each event is drawn."""

from __future__ import annotations

from typing import Any

Picture = dict[str, Any]

WHOLE_US = 100_000.0
SHORTER_US = 50_000.0


def picture() -> Picture:
    """A step of 100 ms: 60 wait for the next batch, 40 compute; after fix 1 of 50 ms, 10 of them waiting.

    Times in ms in the comments.
    """
    return {
        "schema": 1,
        "names": ["next batch", "aten::mm", "gemm<float>", "aten::addmm"],
        "places": ["train.py:41", "train.py:44"],
        "findings": [
            {"rule": "input-wait-no-workers", "number": 1, "title": "Load batches in worker processes"}
        ],
        "rows": [
            {
                "row": "input_wait",
                "title": "Input wait",
                "meaning": "the training thread waits for the next batch",
            },
            {"row": "forward", "title": "Forward", "meaning": "the model's `forward`"},
        ],
        "lanes": [
            {"title": "Training thread", "kind": "host"},
            {"title": "Loader worker 7", "kind": "loader"},
            {"title": "GPU 0, stream 7", "kind": "stream"},
        ],
        "versions": [
            version(
                "As it is",
                WHOLE_US,
                {"input_wait": 60.0, "forward": 40.0},
                # thread: waits 0–60, computes 60–100 with an operator in it at 70–80; the GPU works at 80–100
                events=[
                    (0, 0, 0, 60, 0, 0, 0),
                    (0, 0, 60, 40, 1, 1, -1),
                    (0, 1, 70, 10, 3, 1, -1),
                    (2, 0, 80, 20, 2, -1, -1),
                ],
            ),
            version(
                "After fix 1",
                SHORTER_US,
                {"input_wait": 10.0, "forward": 40.0},
                events=[
                    (0, 0, 10, 40, 1, 1, -1),
                    (0, 1, 20, 10, 3, 1, -1),
                    (1, 0, 0, 30, 0, -1, -1),
                    (2, 0, 30, 20, 2, -1, -1),
                ],
            ),
        ],
        "memory": [
            {
                "title": "Memory of the process",
                "x_title": "step",
                "x": [0, 1, 2, 3],
                "bytes": [2**20, 2**21, 3 * 2**20, 3 * 2**20],
            }
        ],
        "roofline": {
            "gpu": "NVIDIA A100",
            "bandwidth_bytes_per_s": 1.5e12,
            "peaks": {"fp32": 1.9e13, "bf16": 3.1e14},
            "source": "the maker's data sheet",
            "kernels": [
                {
                    "name": "gemm<float>",
                    "format": "fp32",
                    "flop_per_byte": 40.0,
                    "flop_per_s": 1e13,
                    "ms_per_step": 1.2,
                    "place": None,
                },
                {
                    "name": "gemm<half>",
                    "format": "bf16",
                    "flop_per_byte": 8.0,
                    "flop_per_s": 3e12,
                    "ms_per_step": 0.3,
                    "place": "a.py:1",
                },
            ],
        },
    }


def version(
    title: str, drawn_us: float, ledger: dict[str, float], events: list[tuple[Any, ...]]
) -> dict[str, Any]:
    """``events``: (lane, depth, start ms, duration ms, name, place, finding)."""
    lane, depth, start, dur, name, place, finding = zip(*events, strict=True) if events else ((),) * 7
    waits = ledger["input_wait"] * 1000
    return {
        "title": title,
        "rules": [],
        "step_ms": sum(ledger.values()),
        "replayed": True,
        "note": "",
        "ledger": ledger,
        "drawn_us": drawn_us,
        "peak_us": None,
        "causes": {"row": [0, 1], "start": [0.0, waits], "dur": [waits, drawn_us - waits]},
        "events": {
            "lane": list(lane),
            "depth": list(depth),
            "start": [1000.0 * one for one in start],
            "dur": [1000.0 * one for one in dur],
            "name": list(name),
            "place": list(place),
            "finding": list(finding),
        },
        "left_out": {"count": 0, "shorter_than_us": 0.0},
    }


def crowded(count: int = 20_000) -> Picture:
    """The same with so many events side by side that most are thinner than a pixel;
    the one in the middle is a finding's.
    """
    crowd = picture()
    each = WHOLE_US / 1000 / count
    events = [
        (0, 0, index * each, each / 2, index % 4, 0, 0 if index == count // 2 else -1)
        for index in range(count)
    ]
    crowd["versions"] = [version("As it is", WHOLE_US, {"input_wait": 60.0, "forward": 40.0}, events)]
    return crowd
