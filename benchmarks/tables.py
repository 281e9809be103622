"""Markdown tables, and the one of all samples in README.md, which `make docs` writes."""

from collections.abc import Iterable, Sequence

from benchmarks.samples import FOLDER, SAMPLES

README = FOLDER / "README.md"
BEGIN, END = "<!-- cases: written by `make docs` from each expected.toml -->\n\n", "\n<!-- end of cases -->"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |\n" for row in (header, *rows)]
    return "".join([lines[0], "|---" * len(header) + "|\n", *lines[1:]])


def cases() -> str:
    """A row a folder, those that need a GPU last."""
    planted = {sample.case: sample.rule for sample in SAMPLES if sample.rule}
    of_case = {sample.case: sample for sample in SAMPLES}
    rows = [
        (f"`{case}`", f"`{planted[case]}`" if case in planted else "–", sample.needs.upper(), sample.what)
        for case, sample in sorted(of_case.items(), key=lambda item: (item[1].needs, item[0]))
    ]
    return table(["folder", "planted", "needs", "the sick script and its twin"], rows)


def readme() -> str:
    """README.md with its table of cases as the folders are now."""
    before, _, rest = README.read_text().partition(BEGIN)
    return before + BEGIN + cases() + END + rest.partition(END)[2]
