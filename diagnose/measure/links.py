"""How fast a GPU is linked to the others of its machine."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

VENDORS = ("nvidia", "tesla", "geforce", "amd", "instinct")


def link_gb_per_s(device_name: str, rank_count: int) -> float | None:
    """What a GPU can send in a collective of so many ranks on one machine, GB/s;
    None if its links are not in the table.
    """
    link = _links().get(bare_name(device_name))
    return None if link is None or rank_count < 2 else min(link[0], link[1] * (rank_count - 1))


def bare_name(device_name: str) -> str:
    """A device's name in small letters, without the vendor's and the brand's before it."""
    words = device_name.casefold().split()
    while words and words[0] in VENDORS:
        del words[0]
    return " ".join(words)


@cache
def _links() -> Mapping[str, tuple[float, float]]:
    """The table in links.toml: to all others and to one, by name."""
    table = tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))
    return {
        bare_name(name): (float(entry["all"]), float(entry["one"]))
        for entry in table["gpu"]
        for name in entry["names"]
    }
