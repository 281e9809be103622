"""Pages that several commands write, a part each. A part begins with its heading of the first level."""

from pathlib import Path


def write_part(page: Path, heading: str, written: str) -> None:
    """Puts the part in the place of the one with the same heading, or at the page's end."""
    parts = parts_of(page.read_text() if page.exists() else "")
    parts[heading] = written.strip()
    page.write_text("\n\n".join(parts.values()) + "\n")


def on_machine(heading: str, gpu: str | None) -> str:
    """The heading of the same part for a GPU, which has one of its own beside that of the machine without."""
    return f"{heading}, on {gpu}" if gpu else heading


def parts_of(text: str) -> dict[str, str]:
    """The parts of a page by heading, in their order."""
    parts: dict[str, str] = {}
    heading = ""
    for line in text.splitlines():
        heading = line if line.startswith("# ") else heading
        parts[heading] = parts[heading] + "\n" + line if heading in parts else line
    return {heading: part.strip() for heading, part in parts.items() if part.strip()}
