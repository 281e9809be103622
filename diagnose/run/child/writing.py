"""Files that are there completely or not at all."""

from __future__ import annotations

import json
import os
from typing import Any


def write_json(path: str, value: Any) -> None:
    """Replace `path` in one go. Raises OSError."""
    unfinished = path + ".unfinished"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(value, file, default=str)  # the script's own objects stand for numbers now and then
    os.replace(unfinished, path)
