"""Numbers and foreign text as every report shows them: rounding, units and
escaping are decided here and nowhere else.
"""

from __future__ import annotations

import html
import math
import re
from typing import Any

from diagnose.document.model import Place
from diagnose.trace.cleaning import LONGEST as LONGEST_PROSE
from diagnose.trace.cleaning import clean as clean

UNKNOWN = "–"
LONGEST_NAME = 100  # characters; kernel names can have thousands
LEAST = 0.001  # ms that are shown as a number
NEGLIGIBLE = 0.02  # of a range's upper end: a lower end below it is no promise

SELDOM = {  # kinds of what only some steps do
    "evaluation": "an evaluation",
    "checkpoint": "saving",
    "figure": "drawing",
    "training": "training",
    "gathering": "collecting data",
    "work": "between steps",
}
OPS = {
    ">=": "at least",
    ">": "more than",
    "<=": "at most",
    "<": "less than",
    "==": "exactly",
    "!=": "other than",
}


# ---- numbers


def ms(value: float | None) -> str:
    """`4.10 ms`: three significant digits, at most whole microseconds, whole milliseconds from 1,000 on."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{significant(value)} ms"


def short_time(value: float) -> str:
    """A time given in ms, as that of one kernel: `9.5 µs`, from a millisecond on as `4.10 ms`."""
    return ms(value) if value >= 1 else f"{significant(1e3 * value)} µs"


def share(value: float | None) -> str:
    """A share of 0–1 as `33 %`, below 10 % as `4.2 %`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    percent = 100 * value
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return f"{percent:.0f} %" if percent == 0 or abs(percent) >= 9.95 else f"{percent:.1f} %"


def count(value: float | None) -> str:
    """`30,000`, `2.5`, `0.04`: whole where it is whole, else two significant digits at least, without an
    exponent.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == round(value) or abs(value) >= 100:
        return f"{round(value):,}"
    if abs(value) < 0.0001:
        return "< 0.0001"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def size(byte_count: float | None) -> str:
    """`512 bytes`, `1.50 MiB`."""
    if byte_count is None or not math.isfinite(byte_count):
        return UNKNOWN
    value, unit = float(byte_count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} bytes" if unit == "bytes" else f"{significant(value)} {unit}"


def seconds(value: float) -> str:
    """A time to wait, as exact as anybody needs it: `less than 1 s`, `6 s`, `3 min`, `2 h`."""
    for unit, length in (("h", 3600), ("min", 60)):
        if value >= 1.5 * length:
            return f"{round(value / length)} {unit}"
    return f"{round(value)} s" if value >= 1 else "less than 1 s"


def factor(value: float | None) -> str:
    """`1.14 ×`."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{significant(value)} ×"


def significant(value: float) -> str:
    """Three significant digits without an exponent, but never more than three
    decimals; whole numbers from 1,000 on.
    """
    if value == 0:
        return "0"
    if abs(value) < 0.001:
        return "< 0.001"
    decimals = max(0, min(3, 2 - math.floor(math.log10(abs(value)))))
    return f"{value:,.{decimals}f}"


def rough(value: float) -> str:
    """Two significant digits, what a prediction is good for:

    `3.1`, `12`, `370`, `0.012`; never more than three decimals.
    """
    if value == 0:
        return "0"
    if abs(value) < 0.001:
        return "< 0.001"
    decimals = _decimals(value, 2)
    rounded = round(value, decimals)
    return f"{rounded:,.{max(0, min(3, _decimals(rounded, 2)))}f}"


def rough_part(value: float, whole: float) -> str:
    """The same of a part, which is not rounded up past its whole."""
    shown = round(value, _decimals(value, 2)) if value > 0 else value
    return rough(value) if shown <= whole else significant(value)


def rough_span(low: float, high: float, unit: str = "ms") -> str:
    """`3.1–4.8 ms`; `up to 0.30 ms` where the lower end is next to nothing, one
    number where both ends look the same.
    """
    if low < max(NEGLIGIBLE * high, 0.001):
        return f"up to {rough(high)} {unit}"
    ends = [rough(low), rough(high)]
    return f"{ends[0]} {unit}" if ends[0] == ends[1] else f"{ends[0]}–{ends[1]} {unit}"


def signed_span(low: float, high: float) -> str:
    """The same for a saving that may be none: `3.1–4.8 ms`, `−0.4 to 1.2 ms`, `−4.8 to −3.1 ms`."""
    if low >= 0:
        return rough_span(low, high)
    ends = [("−" if end < 0 else "") + rough(abs(end)) for end in (low, high)]
    return f"{ends[0]} to {ends[1]} ms"


def rough_share_span(low: float, high: float) -> str:
    """The same for shares of 0–1: `25–39 %`, `3.7–13 %`; of `up to` only the number."""
    ends = [share(one).removesuffix(" %") for one in (low, high)]
    return f"{ends[1]} %" if ends[0] == ends[1] or low < NEGLIGIBLE * high else f"{ends[0]}–{ends[1]} %"


def less(value: float, saved: float, least: float = 0.0) -> str:
    """What is left of a time in ms after a saving, as exact as the saving is and with one to three
    significant digits: `118 ms`. It is not rounded down past ``least``.
    """
    if round(value, 3) <= 0:
        return "0 ms"
    as_exact = _decimals(saved, 2) if saved > 0 else 3
    decimals = min(max(as_exact, _decimals(value, 1)), _decimals(value, 3), 3)
    if round(value, decimals) < least <= value:
        decimals = min(_decimals(value, 3), 3)
    return f"{round(value, decimals):,.{max(0, decimals)}f} ms"


def _decimals(value: float, digits: int) -> int:
    """Decimals that show so many significant digits; negative for tens and hundreds."""
    return digits - 1 - math.floor(math.log10(abs(value)))


def quantity(value: Any, unit: str) -> str:
    """A metric's value in its unit; plain text, to be escaped like any other."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return clean(str(value))
    formats = {"ms": ms, "share": share, "count": count, "bytes": size}
    if unit in formats:
        return formats[unit](value)
    return f"{count(value)} {'µs' if unit == 'us' else unit}".rstrip()


def condition(op: str, threshold: Any, unit: str) -> str:
    """`at least 5.0 %`; a flag that must hold is just `yes`."""
    wanted = quantity(threshold, unit)
    return wanted if isinstance(threshold, (bool, str)) and op == "==" else f"{OPS[op]} {wanted}"


def bar(part: float, width: int = 20) -> str:
    """A share of 0–1 as a row of blocks, eighths included; whatever is there at all shows."""
    eighths = max(round(max(0.0, min(1.0, part)) * width * 8), int(part > 0))
    full, rest = divmod(eighths, 8)
    return "█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")


def place(spot: Place) -> str:
    """`train.py:41` of a culprit, a call to change or a line."""
    return f"{spot.file}:{spot.line}"


# ---- text that others wrote


def end_of(name: str, longest: int) -> str:
    """A path cut at its front, where it says least: `…/models/attention.py:41`."""
    name = clean(name)
    return name if len(name) <= longest else "…" + name[len(name) - longest + 1 :]


def short_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A range's or operator's name without what says nothing: `## forward ##` as `forward`, torch's
    `Optimizer.step#Adam.step` as `Adam.step`, a compiled graph's hash as its first letters.
    """
    plain = re.sub(r"^(backward of )?#+ *(.*?\S) *#+$", r"\1\2", clean(name))
    plain = re.sub(r"(?<!\S)Optimizer\.(?:step|zero_grad)#(?=\S)", "", plain)
    plain = re.sub(r"(?:Call )?CompiledFxGraph (\w{8})\w+", r"CompiledFxGraph \1", plain)
    return clean(plain, longest)


def quoted(name: str, longest: int = LONGEST_NAME) -> str:
    """Foreign text as code in a sentence, which a back-tick in it would end."""
    plain = clean(name, longest).replace("`", "'")
    return f"`{plain}`"


def quoted_place(spot: Place) -> str:
    """The same of a place, cut at its front."""
    return quoted(end_of(place(spot), LONGEST_NAME))


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """Foreign text as inline code in Markdown, literal in a table cell too.

    Back-ticks do where they can. Otherwise `<code>` with every mark that
    Markdown reads replaced by its entity.
    """
    name = clean(text, longest)
    if not name:
        return ""
    if not set(name) & set("`|\\"):
        return f"`{name}`"
    return f"<code>{re.sub(r'[^0-9A-Za-z _.,:;/(){}=+-]', lambda found: _entity(found[0]), name)}</code>"


def _entity(letter: str) -> str:
    return f"&#{ord(letter)};" if letter.isascii() else html.escape(letter)


def prose(text: str) -> str:
    """Sentences as Markdown:

    `back-ticked` parts become inline code, everything else is literal, on one line.
    """
    parts = clean(text).split("`")
    if len(parts) % 2 == 0:  # an unpaired back-tick opens nothing
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(
        code(part, LONGEST_PROSE) if index % 2 else _literal(part) for index, part in enumerate(parts)
    )


def _literal(text: str) -> str:
    """Only what Markdown would read is escaped: a number, a lone `<` before a
    space or an arrow stay as they are.
    """
    escaped = re.sub(r"[\\`*\[\]|~]|<(?! )|&(?=[#\w])|^\s*>", lambda found: _escaped(found[0]), text)
    escaped = re.sub(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])", r"\\_", escaped)
    # A line that would begin a heading, a list or a rule.
    return re.sub(r"^(\s*)(\d+(?=[.)](?:\s|$))|(?=[#=])|(?=[+-](?:[\s-]|$)))", r"\1\2\\", escaped)


def _escaped(mark: str) -> str:
    return "".join(
        _entity(letter) if letter in "<>|&" else letter if letter.isspace() else "\\" + letter
        for letter in mark
    )
