"""What a report says that stays English: `python -m docs.untranslated [zh] [RUN_OR_TRACE …]`.

Of the bundled samples where none is named; the sentence that comes most often first.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.samples import SAMPLES
from diagnose.pipeline import analyse
from diagnose.report.languages.catalogue import catalogue, has_words
from diagnose.report.languages.pages import markdown_spoken
from diagnose.report.markdown import markdown


def untranslated(language: str, paths: Iterable[Path]) -> tuple[Counter[str], int]:
    """Sentences of the reports without a translation, and how many there are in all."""
    known, left, whole = catalogue(language), Counter[str](), 0
    for path in paths:
        said: list[str] = []
        markdown_spoken(markdown(analyse(path)), lambda text, said=said: said.append(text) or text)
        for text in said:
            whole += has_words(text)
            left.update(known.left(text))
    return left, whole


def main(arguments: Sequence[str]) -> int:
    language, paths = (arguments[0] if arguments else "zh"), [Path(path) for path in arguments[1:]]
    left, whole = untranslated(language, paths or [sample.run for sample in SAMPLES if sample.run.is_dir()])
    for sentence, count in left.most_common():
        print(f"{count:5} {sentence}")
    print(f"{sum(left.values()):,} of {whole:,} texts in English still", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
